"""Hides the logs of libraries from the terminal, except with --debug."""

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
    """Shows only the trace errors that a user can repair."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Print the record as one line."""
        if record.name == "rondel.telemetry" and record.levelno >= logging.WARNING:
            complain(record.getMessage(), "warning")
        return True


@contextmanager
def _tracebacks() -> Iterator[None]:
    """Log the tracebacks of failed nodes."""
    log, handler = logging.getLogger("rondel"), logging.StreamHandler()
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
