"""Every error Rondel raises on purpose, as one tree.

RondelError
├── GraphError               the graph is wrong; carries every problem found, not only the first
├── CallError                the call is wrong: a bad input, option or name
│   ├── UnknownGraph         no stored graph has that name
│   ├── GraphExists          a stored graph has that name already
│   ├── GraphChanged         somebody changed the stored graph meanwhile
│   ├── KeyReused            an idempotency key that stood for something else
│   └── CodeChanged          a session would go on with other functions than it began with
├── SessionError             a session cannot do what was asked
│   ├── UnknownSession
│   ├── WrongState           a control in a state that does not take it
│   ├── SessionBusy          another process drives it
│   └── Disconnected         the session's process is going away
├── StepFailed               a step failed for good, after its retries
│   ├── StepTimeout
│   └── Exited               its code tried to end the program
├── ModelError               a language model could not answer
└── JournalError             the journal cannot keep or give back what was asked
    ├── Unstorable           a value that a journal cannot hold
    ├── LeaseLost            somebody else drives the session now
    ├── JournalUnwritable    no permission, no such place, or the device failed
    ├── JournalFull          no space left
    ├── JournalLocked        another process keeps the file locked
    ├── JournalCorrupt       damaged, or not a journal at all
    ├── JournalNewer         written by a newer version of Rondel
    └── JournalClosed        closed already
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

HELP = "docs/reference/errors.md"
"""The page with a section for each error, under its code."""


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


class UnknownGraph(CallError):
    """No stored graph has that name."""


class GraphExists(CallError):
    """A stored graph has that name already."""


class GraphChanged(CallError):
    """Somebody changed the stored graph meanwhile."""


class KeyReused(CallError):
    """An idempotency key that stood for another call before."""


class CodeChanged(CallError):
    """A session would go on with other functions than it began with, and that was forbidden."""


class SessionError(RondelError):
    """A session cannot do what was asked."""


class UnknownSession(SessionError):
    """There is no session of that id."""


class WrongState(SessionError):
    """The session's state does not take this control."""


class SessionBusy(SessionError):
    """Another process drives the session."""


class Disconnected(SessionError):
    """The engine that drove the session was closed."""


class StepFailed(RondelError):
    """A step failed for good."""


class StepTimeout(StepFailed):
    """A step took longer than its node's timeout."""


class Exited(StepFailed):
    """Code in a graph tried to end the program."""


class ModelError(RondelError):
    """A language model could not answer; `retryable` says whether asking again may help."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        self.retryable = retryable
        super().__init__(message)


class JournalError(RondelError):
    """The journal cannot keep or give back what was asked."""


class Unstorable(JournalError):
    """A value that a journal cannot hold; nothing was written."""


class LeaseLost(JournalError):
    """Somebody else drives the session now; what was to be appended is not in the journal."""


class JournalUnwritable(JournalError):
    """The journal's place does not take writes: permissions, a missing place, a failing device."""


class JournalFull(JournalError):
    """There is no space left; all that was durable before still is."""


class JournalLocked(JournalError):
    """Another process kept the journal locked for too long."""


class JournalCorrupt(JournalError):
    """The journal is damaged, or the file is not a journal at all."""


class JournalNewer(JournalError):
    """A newer version of Rondel wrote this; this version does not guess at it."""


class JournalClosed(JournalError):
    """The journal was closed."""


def code_of(kind: type[BaseException]) -> str:
    """The code of a class of errors, as HTTP and the help page name it: `unknown_session`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def help_for(code: str) -> str:
    """Where a user reads about the error of that code."""
    return f"{HELP}#{code}"
