"""What libraries say on their own account: for developers, so only with --debug."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rondel.cli.failures import complain


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
    import threading
    import warnings

    last, unraisable, thread = logging.lastResort, sys.unraisablehook, threading.excepthook
    logging.lastResort = _Telemetry()
    sys.unraisablehook = _ignored
    threading.excepthook = _ignored
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.lastResort = last
        sys.unraisablehook, threading.excepthook = unraisable, thread


class _Telemetry(logging.Handler):
    """Shows what users can mend who asked for traces; of all else nothing."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Tell it in one line."""
        if record.name == "rondel.telemetry" and record.levelno >= logging.WARNING:
            complain(record.getMessage(), "warning")
        return True


@contextmanager
def _tracebacks() -> Iterator[None]:
    """Show where nodes fail."""
    log, handler = logging.getLogger("rondel"), logging.StreamHandler()
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
