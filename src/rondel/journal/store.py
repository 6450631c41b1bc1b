"""What a store of sessions promises. Read this file before any store.

A store keeps four things: a row for every session, its ticks, letters to it from other
processes, and snapshots. It also holds the lease that lets only one process drive a session, the
working memory of groups of sessions, and the attachments of messages.

Writes that a step waits for (`create`, `append`, `set_status`, `save_snapshot`) return None when
they are durable already and else an awaitable that ends when they are. For one session, all
writes take effect in the order of the calls, whether anybody awaits them or not. Everything else
is done on return; but while another process keeps the store locked, `release` and `reply`
called on an event loop take effect as soon as it lets go. A write of a session that exists
waits as long as that takes.
Reads see only what is durable, from this process or any other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from rondel.engine.ticks import AnyTick
from rondel.errors import RondelError

DAMAGED = "damaged"
"""The status in a list of a session that cannot be read."""

REPLIES_KEPT = 3600.0
"""Seconds for which the reply to a letter is kept."""

BATCH = 1000
"""How many ticks a scan reads at once."""


class SessionRow(msgspec.Struct, frozen=True):
    """What is known of a session without folding its journal."""

    id: str
    graph_id: str
    document: dict[str, Any]
    """The session's own copy of the graph as written. Rows of one page may share it: do not change
    it."""
    includes: dict[str, Any] = {}
    """The files that the graph names, by name."""
    inputs: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    """Any further data that the caller stores with the session."""
    status: str = "pending"
    reason: str = ""
    created_at: float = 0.0
    """Seconds since the epoch; 0 when creating means now."""
    updated_at: float = 0.0
    """When the status last changed."""
    parent: str | None = None
    parent_length: int = 0
    """How many of the parent's ticks are this session's past too."""
    length: int = 0
    """How many ticks the session has, those it shares included; ignored when creating."""
    due: float | None = None
    """Its deadline by the store's clock; None or 0 if it has none."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some sessions, newest first, and where the next page begins."""

    rows: Sequence[SessionRow]
    next: str | None = None
    """The `before` of the next page; None on the last."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who drives a session, and until when unless renewed."""

    owner: str
    until: float
    granted: bool = True
    """False if another owner has the lease."""
    status: str = "pending"
    """The session's status as the lease was granted."""
    due: float | None = None
    """Its deadline then."""


@dataclass(frozen=True, slots=True)
class Due:
    """A session with a deadline, at which some process has to look at it."""

    session: str
    at: float
    """The deadline, by the store's clock."""
    noted: float
    """When the deadline was noted; a clock that was set since may show an earlier time."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A control that another process left for whoever drives the session."""

    number: int
    control: bytes
    posted_at: float


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a letter."""

    tick: int | None = None
    """The number of the tick that it led to, counted from 0; None if there was nothing to do."""
    refusal: str = ""
    """Why it was refused; empty if it was not."""


@dataclass(frozen=True, slots=True)
class Group:
    """The owner of a working memory: all sessions that name the group, or one session."""

    name: str
    own: bool = False
    """Whether `name` is a session's id: its own memory, apart from any group of that name."""


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """One message in a group's working memory, and where it comes from."""

    group: Group
    session: str
    address: str
    number: int
    """Its place among the messages of its step, from 0."""
    node_id: str
    content: Any
    data: dict[str, Any]
    confidence: float | None = None
    created_at: float = 0.0
    """When it was first promoted; 0 when promoting means now."""
    id: int = 0
    """Given by the store, in the order of promotion."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """The messages of one step that go into its group's working memory."""

    group: Group
    session: str
    address: str
    entries: Sequence[MemoryEntry]

    def is_about(self, entry: MemoryEntry) -> bool:
        """Whether the entry is of this step."""
        return (entry.session, entry.address) == (self.session, self.address)


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group, how many entries it has, and when the newest was promoted."""

    group: Group
    entries: int
    newest: float


Durable = Awaitable[None] | None
"""None if the write is durable already; otherwise await it."""


class Store(Protocol):
    """Keeps sessions with their ticks, letters, leases and snapshots."""

    # Sessions

    def create(self, row: SessionRow, owner: str | None = None, ttl: float = 0.0) -> Durable:
        """Add a session, and lease it to `owner` in the same transaction.

        A fork names its parent and how much of its past it shares; nothing is copied. The session
        refers to the attachments of its inputs.
        """
        ...

    def session(self, id: str) -> SessionRow | None:
        """The session's row, or None."""
        ...

    def sessions(
        self,
        status: str | None = None,
        graph_id: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Sessions, newest first; `before` is an earlier page's `next`."""
        ...

    def statuses(self) -> dict[str, int]:
        """How many sessions are in each status."""
        ...

    def set_status(
        self, id: str, status: str, reason: str = "", due: float | None = None
    ) -> Durable:
        """Change the status and the deadline without a tick."""
        ...

    def due(self, limit: int = 1000, noted_after: float = 0.0) -> list[Due]:
        """Sessions with a deadline, the earliest first; with `noted_after`, those whose deadline
        was noted after that time.
        """
        ...

    def delete(self, id: str) -> None:
        """Forget a session; refused while forks share its past or somebody drives it."""
        ...

    # Ticks

    def writer(self, id: str) -> Callable[[AnyTick], Durable]:
        """`append` for one session."""
        ...

    def append(
        self,
        id: str,
        tick: AnyTick,
        status: str | None = None,
        reason: str = "",
        letter: int | None = None,
        due: float | None = None,
    ) -> Durable:
        """Add a tick; a new status, with when the session is due, and the letter it answers,
        change in the same transaction.

        Raises LeaseLost, here or when awaited, if somebody else has written to the session or
        leased it; the session then takes no append from this store until it is acquired again.
        """
        ...

    def extend(self, id: str, ticks: Iterable[AnyTick]) -> None:
        """Add many ticks at once; all are durable on return, or none."""
        ...

    def read(self, id: str, start: int, stop: int | None = None) -> Sequence[AnyTick]:
        """The ticks from `start` on, counted from 0, the shared past of a fork included."""
        ...

    def scan(self, id: str, start: int = 0) -> Iterator[Sequence[AnyTick]]:
        """The ticks from `start` on in batches, for sessions of any length."""
        ...

    # Who drives a session

    def acquire(self, id: str, owner: str, ttl: float) -> Lease:
        """Lease the session for `ttl` seconds, unless another's lease runs; look at `granted`.

        Read the session's ticks after this, not before.
        """
        ...

    def renew(self, id: str, owner: str, ttl: float) -> bool:
        """Prolong a lease; False if it is not this owner's any more."""
        ...

    def release(self, id: str, owner: str) -> None:
        """Give a lease back; nothing happens if it is not this owner's.

        On an event loop that may happen soon after, and after all that was written before; this
        store's next `acquire` or `lease` of the session waits for it.
        """
        ...

    def lease(self, id: str) -> Lease | None:
        """The lease that runs now, or None."""
        ...

    # Letters

    def post(self, id: str, control: bytes) -> int:
        """Leave a control for whoever drives the session; the number names the letter."""
        ...

    def letters(self, id: str) -> list[Letter]:
        """The letters not yet answered, oldest first; an `append` that names one answers it."""
        ...

    def reply(self, id: str, letter: int, refusal: str = "") -> None:
        """Answer a letter that leads to no tick: it was refused, or there was nothing to do."""
        ...

    def reply_to(self, letter: int) -> Reply | None:
        """What became of a letter, for an hour after it was answered; None before."""
        ...

    def pending(self, ids: Iterable[str] | None = None) -> set[str]:
        """Which sessions, or which of these, have letters."""
        ...

    def changes(self) -> int:
        """A number that changes soon after another process has written.

        It is cheap: ask often, and look for letters when it has changed.
        """
        ...

    # Snapshots

    def save_snapshot(self, id: str, n: int, blob: bytes) -> Durable:
        """Keep what the first `n` ticks fold to."""
        ...

    def latest_snapshot(self, id: str, at_most: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot of at most that many ticks, from the shared past too."""
        ...

    # Working memory; these four may be called from any thread

    def remember(self, promotion: Promotion, since: float, size: int) -> list[MemoryEntry]:
        """Make these the step's only entries, and return them.

        One that was promoted before keeps its id and its time. Of the group's entries, those from
        before `since` go, and only the `size` newest stay. A failure harms no session.
        """
        ...

    def recall(
        self, group: Group, since: float, limit: int, least: float = 0.0
    ) -> list[MemoryEntry]:
        """The group's newest entries since then, newest first.

        Entries with a confidence below `least` are left out; those without one are not.
        """
        ...

    def forget(self, group: Group) -> int:
        """Empty a group; how many entries it had. Deleting a session does so with its own."""
        ...

    def groups(self) -> list[GroupSummary]:
        """The groups that have entries, the one with the newest entry first."""
        ...

    # Attachments; these five may be called from any thread

    def hold(self, content: bytes, until: float) -> None:
        """Keep bytes, once each, at least until then or until a session refers to them."""
        ...

    def refer(self, id: str, digests: Iterable[str]) -> None:
        """The session needs these attachments; deleting it lets go of them."""
        ...

    def attachment(self, digest: str) -> bytes | None:
        """The bytes whose SHA-256 this is, or None."""
        ...

    def has_attachment(self, digest: str) -> bool:
        """Whether there are such bytes."""
        ...

    def attachments(self, id: str) -> list[str]:
        """What the session refers to, its shared past included, in the order of the digests."""
        ...

    # The store itself

    def now(self) -> float:
        """The time of the store, in seconds since the epoch: it passes evenly, and a clock on the
        wall that is set while the store is open does not move it."""
        ...

    @property
    def trouble(self) -> RondelError | None:
        """Why it takes no writes for the time being, as far as is known."""
        ...

    def ready(self) -> Durable:
        """None if the store takes writes now; otherwise await it first.

        While another process holds the store's lock, calls that are done on return would block
        the event loop: await this before them.
        """
        ...

    def pack(self) -> bool:
        """Give the space of deleted sessions back to the disk; False if that is put off."""
        ...

    def close(self) -> None:
        """Make everything durable and close the store."""
        ...


async def finish(durable: Durable) -> None:
    """Return when it is durable."""
    if durable is not None:
        await durable
