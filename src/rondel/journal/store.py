"""What a store of sessions promises. Read this file before any store.

A store keeps four things: a row for every session, its ticks, letters to it from other
processes, and snapshots. It also holds the lease that lets only one process drive a session.

Writes that a step waits for (`create`, `append`, `set_status`, `save_snapshot`) return None when
they are durable already and else an awaitable that ends when they are. For one session, all
writes take effect in the order of the calls, whether anybody awaits them or not. Everything else
is done on return.
Reads see only what is durable, from this process or any other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rondel.engine.ticks import AnyTick

ENDED = ("completed", "bounded", "failed", "cancelled")
"""The states that a session never leaves."""

BATCH = 1000
"""How many ticks a scan reads at once."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """What is known of a session without folding its journal."""

    id: str
    graph_id: str
    document: dict[str, Any]
    """The graph as written; the session keeps this copy whatever becomes of the file. Rows of
    one page may share it: it must not be changed."""
    includes: dict[str, Any] = field(default_factory=dict)
    """The files that the graph names, by name."""
    inputs: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    """Whatever the caller wants to find again with the session."""
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
    """False when the lease is another's and was asked for in vain."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A control that another process left for whoever drives the session."""

    number: int
    control: bytes
    posted_at: float


Durable = Awaitable[None] | None
"""None if it is durable already; else it is once this has been awaited."""


class Store(Protocol):
    """Sessions, their ticks, their mail and who drives them."""

    # Sessions

    def create(self, row: SessionRow, owner: str | None = None, ttl: float = 0.0) -> Durable:
        """Add a session, and lease it to `owner` in the same breath.

        A fork names its parent and how much of its past it shares; nothing is copied.
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

    def set_status(self, id: str, status: str, reason: str = "") -> Durable:
        """Change the status without a tick."""
        ...

    def delete(self, id: str) -> None:
        """Forget a session; refused while forks share its past or somebody drives it."""
        ...

    def ended_before(self, time: float, limit: int = 1000) -> list[str]:
        """Sessions that ended before then and whose past no fork shares, oldest first."""
        ...

    # Ticks

    def append(
        self,
        id: str,
        tick: AnyTick,
        status: str | None = None,
        reason: str = "",
        letter: int | None = None,
    ) -> Durable:
        """Add a tick; a new status, and the letter it answers, change in the same transaction.

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
        """The same in batches, for sessions of any length."""
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
        """Give a lease back; nothing happens if it is not this owner's."""
        ...

    def lease(self, id: str) -> Lease | None:
        """The lease that runs now, or None."""
        ...

    # Letters

    def post(self, id: str, control: bytes) -> int:
        """Leave a control for whoever drives the session; the number names the letter."""
        ...

    def letters(self, id: str) -> list[Letter]:
        """The letters not yet answered, oldest first; an `append` that names one removes it."""
        ...

    def discard(self, id: str, letter: int) -> None:
        """Remove a letter that changes nothing."""
        ...

    def pending(self, ids: Iterable[str] | None = None) -> set[str]:
        """Which sessions, or which of these, have letters."""
        ...

    def changes(self) -> int:
        """A number that changes soon after another process has written.

        It costs next to nothing: ask often, and look for letters when it has changed.
        """
        ...

    # Snapshots

    def save_snapshot(self, id: str, n: int, blob: bytes, keep: int | None = None) -> Durable:
        """Keep what the first `n` ticks fold to; of all snapshots only the `keep` newest stay."""
        ...

    def latest_snapshot(self, id: str, at_most: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot of at most that many ticks, from the shared past too."""
        ...

    # The store itself

    def close(self) -> None:
        """Make everything durable and let go."""
        ...
