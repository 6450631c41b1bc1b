"""What one session wants written, and where its ticks end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from rondel.errors import RondelError
from rondel.journal.clock import elapsed
from rondel.journal.rules import graph_digest
from rondel.journal.store import SessionRow


class PostgresHead:
    """Where a session's ticks end, as far as this process has written them."""

    __slots__ = ("__weakref__", "error", "id", "key", "last", "length", "made", "owner", "until")

    def __init__(self, id: str, key: int = 0, length: int = 0, owner: str | None = None) -> None:
        self.id = id
        self.key = key
        self.length = length
        """How many ticks it has that are durable."""
        self.owner = owner
        self.until = 0.0
        """Until when its lease stands for certain, by `elapsed`."""
        self.made: float | None = None
        """When the lease of a session was given that was made pending, until somebody asks for it
        or the status changes."""
        self.last: Change | None = None
        """The latest change, which may be under way."""
        self.error: RondelError | None = None
        """Why the session takes no more writes, until it is acquired again."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that is to be made, with its values as JSON."""

    row: SessionRow
    document: bytes
    includes: bytes
    inputs: bytes
    labels: bytes
    attached: list[bytes]
    ttl: float

    @property
    def digest(self) -> bytes:
        """What the session's graph is known by."""
        return graph_digest(self.document, self.includes)


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """What the first `n` ticks fold to."""

    n: int
    state: bytes


@dataclass(slots=True, eq=False)
class Change:
    """One change of one session on its way into the database."""

    head: PostgresHead
    records: list[bytes] = field(default_factory=list)
    status: str | None = None
    reason: str = ""
    letter: int | None = None
    due: float | None = None
    birth: NewSession | None = None
    snapshot: NewSnapshot | None = None
    release: str | None = None
    """The owner who gives the session's lease back, after all that."""
    future: asyncio.Future[None] | None = None
    is_over: bool = False
    error: RondelError | None = None


class SessionChanges:
    """All that one batch changes of one session."""

    __slots__ = ("changes", "due", "head", "letters", "reason", "records", "status")

    def __init__(self, head: PostgresHead) -> None:
        self.head = head
        self.changes: list[Change] = []
        self.records: list[bytes] = []
        self.letters: dict[int, int] = {}
        """The letters that are answered, with the tick that each led to."""
        self.status: str | None = None
        self.reason = ""
        self.due: float | None = None

    def add(self, change: Change) -> None:
        """And this."""
        self.changes.append(change)
        if change.letter is not None:
            self.letters[change.letter] = self.length
        self.records += change.records
        if change.status is not None:
            self.status, self.reason, self.due = change.status, change.reason, change.due
            self.head.made = None

    @property
    def length(self) -> int:
        """Where the session's ticks end then."""
        return self.head.length + len(self.records)

    def refuse(self, error: RondelError) -> None:
        """None of it was written: the session is not what its driver thinks."""
        self.head.error = error
        for change in self.changes:
            change.error = error


def moves_of(batch: list[Change]) -> dict[int, SessionChanges]:
    """What a batch comes to for each session that is there and takes writes."""
    moves: dict[int, SessionChanges] = {}
    for change in batch:
        head = change.head
        if head.error is not None and change.release is None:
            change.error = change.error or head.error
        elif change.birth is None and change.release is None:
            moves.setdefault(head.key, SessionChanges(head)).add(change)
    return moves


def is_fresh(head: PostgresHead, owner: str, ttl: float, part: float) -> bool:
    """Whether the session was made with a lease of this owner that has that part of it left."""
    if head.owner != owner or head.error is not None:
        return False
    made, head.made = head.made, None
    return made is not None and elapsed() - made < (1 - part) * ttl
