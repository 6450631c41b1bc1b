"""What libraries say on their own account: for developers, so only with --debug."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


def _ignored(_: object) -> None:
    pass


@contextmanager
def hushed(*, debug: bool) -> Iterator[None]:
    """Keep warnings, logged lines and tracebacks of libraries from the user's terminal.

    What the user asks Python for (-W, a log handler of one's own) still shows. With `debug` all of
    it does, and the tracebacks of nodes that failed.
    """
    if debug:
        with _tracebacks():
            yield
        return
    if sys.warnoptions:
        yield
        return
    import logging
    import threading
    import warnings

    last, unraisable, thread = logging.lastResort, sys.unraisablehook, threading.excepthook
    logging.lastResort = logging.NullHandler()
    sys.unraisablehook = _ignored
    threading.excepthook = _ignored
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.lastResort = last
        sys.unraisablehook, threading.excepthook = unraisable, thread


@contextmanager
def _tracebacks() -> Iterator[None]:
    """Show where nodes fail."""
    import logging

    log, handler = logging.getLogger("rondel"), logging.StreamHandler()
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
