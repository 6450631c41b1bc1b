"""What reaches stderr: an error as one line with its exit code, and nothing of libraries."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from rondel.cli.language import translated, words
from rondel.cli.screen import visible
from rondel.errors import (
    CallError,
    GraphError,
    JournalError,
    Problem,
    RondelError,
    SessionError,
    code_of,
    help_for,
)

FAILED = 1
WRONG = 2


def explain(error: Exception, *, debug: bool = False) -> int:
    """Print what went wrong, and return the exit code that says so."""
    if debug:
        traceback.print_exception(error)
    for line in _lines(error):
        complain(line)
    if debug and isinstance(error, RondelError):
        complain(help_for(code_of(type(error))), "help")
    wrong = isinstance(error, GraphError | CallError | SessionError | JournalError)
    return WRONG if wrong or hasattr(error, "format_message") else FAILED


def complain(message: str, kind: str = "error") -> None:
    """One line on stderr."""
    sys.stdout.flush()
    text = translated(" ".join(message.split()))
    print(f"{words(kind)}{words(': ')}{visible(text)}", file=sys.stderr)


def _lines(error: Exception) -> list[str]:
    if isinstance(error, GraphError):
        return [problem_text(problem) for problem in error.problems]
    if isinstance(error, RondelError):
        return [str(error)]
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        return [_usage(str(format_message()))]
    name = type(error).__name__
    return [f"something unexpected happened: {name}: {error}; --debug shows where"]


def problem_text(problem: Problem) -> str:
    """A problem of a graph in the language that is spoken."""
    told = str(replace(problem, message=translated(problem.message), hint=""))
    return f"{told}{words('; ')}{translated(problem.hint)}" if problem.hint else told


def _usage(message: str) -> str:
    """Typer's message about a wrong call, in the style of all other errors."""
    text = message.strip().rstrip(".")
    return f"{text[:1].lower()}{text[1:]}; --help shows what there is"


# Libraries


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
