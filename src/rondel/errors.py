"""Every error Rondel raises on purpose, as one tree.

RondelError
├── GraphError               the graph is wrong; carries every problem found, not only the first
├── CallError                the call is wrong: a bad input, option or name
├── SessionError             a session cannot do what was asked
│   ├── UnknownSession
│   ├── WrongState           a control in a state that does not take it
│   └── Disconnected         the session's process is going away
├── StepFailed               a step failed for good, after its retries
│   └── StepTimeout
└── ModelError               a language model could not answer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a graph: what, where, and what to do."""

    message: str
    path: str = ""
    hint: str = ""
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part)
        place = " ".join(part for part in (where, self.path) if part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}; {self.hint}" if self.hint else text


class RondelError(Exception):
    """The root of everything Rondel raises on purpose."""


class GraphError(RondelError):
    """A graph cannot be used; `problems` holds all that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class CallError(RondelError):
    """The caller asked for something that does not exist or makes no sense."""


class SessionError(RondelError):
    """A session cannot do what was asked."""


class UnknownSession(SessionError):
    """There is no session of that id."""


class WrongState(SessionError):
    """The session's state does not take this control."""


class Disconnected(SessionError):
    """The engine that drove the session was closed."""


class StepFailed(RondelError):
    """A step failed for good."""


class StepTimeout(StepFailed):
    """A step took longer than its node's timeout."""


class ModelError(RondelError):
    """A language model could not answer; `retryable` says whether asking again may help."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        self.retryable = retryable
        super().__init__(message)
