"""Errors as a user meets them: one line each on stderr, and the exit code."""

from __future__ import annotations

import sys
import traceback

from rondel.cli.screen import visible
from rondel.errors import CallError, GraphError, JournalError, RondelError, SessionError

FAILED = 1
WRONG = 2


def explain(error: Exception, *, debug: bool = False) -> int:
    """Print what went wrong, and return the exit code that says so."""
    if debug:
        traceback.print_exception(error)
    for line in _lines(error):
        complain(line)
    wrong = isinstance(error, GraphError | CallError | SessionError | JournalError)
    return WRONG if wrong or hasattr(error, "format_message") else FAILED


def complain(message: str, kind: str = "error") -> None:
    """One line on stderr."""
    sys.stdout.flush()
    print(f"{kind}: {visible(' '.join(message.split()))}", file=sys.stderr)


def _lines(error: Exception) -> list[str]:
    if isinstance(error, GraphError):
        return [str(problem) for problem in error.problems]
    if isinstance(error, RondelError):
        return [str(error)]
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        return [_usage(str(format_message()))]
    name = type(error).__name__
    return [f"something unexpected happened: {name}: {error}; --debug shows where"]


def _usage(message: str) -> str:
    """What typer says about a wrong call, in the manner of all other errors."""
    text = message.strip().rstrip(".")
    return f"{text[:1].lower()}{text[1:]}; --help shows what there is"
