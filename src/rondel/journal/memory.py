"""The store in memory; it lives as long as its process."""

from __future__ import annotations

import dataclasses
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from threading import Lock

from msgspec.structs import replace

from rondel.engine.ticks import AnyTick
from rondel.errors import JournalError, UnknownSession
from rondel.journal.attachments import used_in
from rondel.journal.clock import Clock
from rondel.journal.compact import encode
from rondel.journal.rules import batches, check_deletable, check_fork, cursor, parse_cursor
from rondel.journal.storable import Ticks
from rondel.journal.store import (
    Due,
    Group,
    GroupSummary,
    Lease,
    Letter,
    MemoryEntry,
    Page,
    Promotion,
    Reply,
    SessionRow,
)

REPLIES = 1000
"""How many replies to letters are kept for their senders."""


@dataclass(slots=True, eq=False)
class _Log:
    """One session; `ticks` are its own, from number `row.parent_length` on."""

    row: SessionRow
    """The row as it was created."""
    order: int
    parent: _Log | None
    created_at: float
    updated_at: float
    status: str
    reason: str
    due: float | None
    ticks: list[AnyTick] = field(default_factory=list)
    owner: str | None = None
    """The owner of the lease, which ends at `until`."""
    until: float = 0.0
    letters: tuple[Letter, ...] = ()
    snapshots: tuple[tuple[int, bytes], ...] = ()
    """Each with its number of ticks, the fewest first."""

    @property
    def length(self) -> int:
        return self.row.parent_length + len(self.ticks)

    @property
    def row_now(self) -> SessionRow:
        return replace(
            self.row,
            status=self.status,
            reason=self.reason,
            created_at=self.created_at,
            updated_at=self.updated_at,
            length=self.length,
            due=self.due,
        )

    def drop_letter(self, number: int) -> bool:
        left = tuple(letter for letter in self.letters if letter.number != number)
        dropped = len(left) < len(self.letters)
        self.letters = left
        return dropped


class _GroupEntries:
    """The working memory of every group, oldest entry first; any thread may call."""

    def __init__(self) -> None:
        self._groups: dict[Group, list[MemoryEntry]] = {}
        self._ids = count(1)
        self._changing = Lock()

    def remember(self, promotion: Promotion, since: float, size: int) -> list[MemoryEntry]:
        """Make these the step's entries, and drop what is too old or too much."""
        with self._changing:
            known = self._groups.get(promotion.group, [])
            known = [entry for entry in known if entry.created_at >= since]
            before = {entry.number: entry for entry in known if promotion.is_about(entry)}
            taken = [self._taken(entry, before) for entry in promotion.entries]
            others = [entry for entry in known if not promotion.is_about(entry)]
            kept = sorted([*others, *taken], key=lambda entry: entry.id)[-size:]
            self._groups[promotion.group] = kept
            if not kept:
                del self._groups[promotion.group]
        return [entry for entry in kept if promotion.is_about(entry)]

    def recall(
        self, group: Group, since: float, limit: int, least: float = 0.0
    ) -> list[MemoryEntry]:
        """The group's newest entries, newest first."""
        with self._changing:
            known = list(self._groups.get(group, ()))
        found = [entry for entry in reversed(known) if _counts(entry, since, least)]
        return found[:limit]

    def forget(self, group: Group) -> int:
        """Empty a group; how many entries it had."""
        with self._changing:
            return len(self._groups.pop(group, ()))

    def groups(self) -> list[GroupSummary]:
        """The groups that have entries, the one with the newest entry first."""
        with self._changing:
            known = list(self._groups.values())
        known.sort(key=lambda entries: entries[-1].id, reverse=True)
        return [_summary(entries) for entries in known]

    def _taken(self, entry: MemoryEntry, before: dict[int, MemoryEntry]) -> MemoryEntry:
        """The entry with its id and time: those it had, if it was promoted before."""
        known = before.get(entry.number)
        if known is not None:
            return dataclasses.replace(entry, id=known.id, created_at=known.created_at)
        return dataclasses.replace(
            entry, id=next(self._ids), created_at=entry.created_at or time.time()
        )


class MemoryStore(_GroupEntries):
    """Keeps sessions in lists; nothing is copied and nothing survives the process.

    It refuses what a file could not hold, so that a graph runs the same on any store.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logs: dict[str, _Log] = {}
        self._created = 0
        self._posted = 0
        self._replies: dict[int, Reply] = {}
        self._attached: dict[str, set[str]] = {}
        """The attachments of each session that has any."""
        self._attachments: dict[str, bytes] = {}
        self._held_until: dict[str, float] = {}
        self.now: Callable[[], float] = Clock().now
        """The time of the store; every step asks for it."""

    # Sessions

    def create(self, row: SessionRow, owner: str | None = None, ttl: float = 0.0) -> None:
        """Add a session, and lease it to `owner`."""
        if row.id in self._logs:
            raise JournalError(f"there is a session {row.id!r} already")
        parent = None if row.parent is None else self._log(row.parent)
        check_fork(row, parent.length if parent else 0)
        now = self.now()
        made = row.created_at or now
        updated = row.updated_at or made
        self._created += 1
        log = _Log(row, self._created, parent, made, updated, row.status, row.reason, row.due)
        self._logs[row.id] = log
        if "attachments" in row.inputs:
            self.refer(row.id, used_in(row.inputs))
        if owner is not None:
            log.owner, log.until = owner, now + ttl

    def session(self, id: str) -> SessionRow | None:
        """The session's row, or None."""
        log = self._logs.get(id)
        return None if log is None else log.row_now

    def sessions(
        self,
        status: str | None = None,
        graph_id: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Sessions, newest first."""
        edge = parse_cursor(before)
        found = [
            log
            for log in self._logs.values()
            if status in (None, log.status)
            and graph_id in (None, log.row.graph_id)
            and (edge is None or (log.created_at, log.order) < edge)
        ]
        found.sort(key=lambda log: (log.created_at, log.order), reverse=True)
        shown = found[:limit]
        more = len(found) > len(shown) and shown
        last = cursor(shown[-1].created_at, shown[-1].order) if more else None
        return Page([log.row_now for log in shown], last)

    def statuses(self) -> dict[str, int]:
        """How many sessions are in each status."""
        return dict(Counter(log.status for log in self._logs.values()))

    def set_status(self, id: str, status: str, reason: str = "", due: float | None = None) -> None:
        """Change the status, and when the session is due."""
        log = self._log(id)
        log.status, log.reason, log.due, log.updated_at = status, reason, due, self.now()

    def due(self, limit: int = 1000, noted_after: float = 0.0) -> list[Due]:
        """Sessions with a deadline, the earliest first."""
        found = [
            Due(log.row.id, log.due, log.updated_at)
            for log in self._logs.values()
            if log.due is not None and log.updated_at > noted_after
        ]
        return sorted(found, key=lambda due: due.at)[:limit]

    def delete(self, id: str) -> None:
        """Forget a session that nobody drives and whose past no fork shares."""
        log = self._log(id)
        forks = [other.row.id for other in self._logs.values() if other.parent is log]
        check_deletable(id, forks[0] if forks else None, self.lease(id))
        del self._logs[id]
        self._attached.pop(id, None)
        self.forget(Group(id, own=True))
        if self._attachments:
            self._sweep()

    # Ticks

    def writer(self, id: str) -> Callable[[AnyTick], None]:
        """`append` for one session."""
        return Ticks(self._log(id).ticks, encode).append

    def append(
        self,
        id: str,
        tick: AnyTick,
        status: str | None = None,
        reason: str = "",
        letter: int | None = None,
        due: float | None = None,
    ) -> None:
        """Add a tick; there is nothing to wait for."""
        log = self._logs.get(id) or self._log(id)
        Ticks(log.ticks, encode).append(tick)
        if status is not None:
            self.set_status(id, status, reason, due)
        if letter is not None:
            self._answer(log, letter, Reply(log.length - 1))

    def extend(self, id: str, ticks: Iterable[AnyTick]) -> None:
        """Add many ticks at once."""
        for tick in ticks:
            self.append(id, tick)

    def read(self, id: str, start: int, stop: int | None = None) -> Sequence[AnyTick]:
        """The ticks from the `start`-th on, the shared past included."""
        log = self._log(id)
        shared = log.row.parent_length
        past: Sequence[AnyTick] = ()
        if log.parent is not None and start < shared:
            limit = shared if stop is None else min(stop, shared)
            past = self.read(log.parent.row.id, start, limit)
        first = max(start - shared, 0)
        last = None if stop is None else max(stop - shared, 0)
        own = log.ticks[first:last]
        return [*past, *own] if past else own

    def scan(self, id: str, start: int = 0) -> Iterator[Sequence[AnyTick]]:
        """The ticks in batches."""
        return batches(self.read, id, start)

    # Who drives a session

    def acquire(self, id: str, owner: str, ttl: float) -> Lease:
        """Lease the session, unless another's lease runs."""
        log, now = self._log(id), self.now()
        if log.owner is not None and log.owner != owner and log.until > now:
            return Lease(log.owner, log.until, granted=False)
        log.owner, log.until = owner, now + ttl
        return Lease(owner, log.until, status=log.status, due=log.due)

    def renew(self, id: str, owner: str, ttl: float) -> bool:
        """Prolong a lease; False if it is not this owner's any more."""
        log = self._log(id)
        if log.owner != owner:
            return False
        log.until = self.now() + ttl
        return True

    def release(self, id: str, owner: str) -> None:
        """Give a lease back."""
        log = self._log(id)
        if log.owner == owner:
            log.owner = None

    def lease(self, id: str) -> Lease | None:
        """The lease that runs now, or None."""
        log = self._log(id)
        if log.owner is None or log.until <= self.now():
            return None
        return Lease(log.owner, log.until)

    # Letters

    def post(self, id: str, control: bytes) -> int:
        """Leave a control for whoever drives the session."""
        log = self._log(id)
        self._posted += 1
        log.letters += (Letter(self._posted, control, self.now()),)
        return self._posted

    def letters(self, id: str) -> list[Letter]:
        """The letters not yet answered, oldest first."""
        return list(self._log(id).letters)

    def reply(self, id: str, letter: int, refusal: str = "") -> None:
        """Answer a letter that leads to no tick."""
        self._answer(self._log(id), letter, Reply(None, refusal))

    def reply_to(self, letter: int) -> Reply | None:
        """What became of a letter."""
        return self._replies.get(letter)

    def _answer(self, log: _Log, letter: int, reply: Reply) -> None:
        if log.drop_letter(letter):
            if len(self._replies) >= REPLIES:
                del self._replies[next(iter(self._replies))]
            self._replies[letter] = reply

    def pending(self, ids: Iterable[str] | None = None) -> set[str]:
        """Which sessions, or which of these, have letters."""
        found = {log.row.id for log in self._logs.values() if log.letters}
        return found if ids is None else found.intersection(ids)

    def changes(self) -> int:
        """Other processes cannot write here; this counts the letters posted."""
        return self._posted

    # Snapshots

    def save_snapshot(self, id: str, n: int, blob: bytes) -> None:
        """Keep what the first `n` ticks fold to."""
        log = self._log(id)
        others = [kept for kept in log.snapshots if kept[0] != n]
        log.snapshots = tuple(sorted([*others, (n, blob)], key=_ticks_in))

    def latest_snapshot(self, id: str, at_most: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot of at most that many ticks, from the shared past too."""
        log: _Log | None = self._log(id)
        while log is not None:
            kept = log.snapshots
            place = len(kept)
            if at_most is not None:
                place = bisect_right(kept, at_most, key=_ticks_in)
            if place:
                return kept[place - 1]
            shared = log.row.parent_length
            at_most = shared if at_most is None else min(at_most, shared)
            log = log.parent
        return None

    # Attachments

    def hold(self, content: bytes, until: float) -> None:
        """Keep bytes, once each."""
        digest = sha256(content).hexdigest()
        self._attachments.setdefault(digest, content)
        self._held_until[digest] = max(until, self._held_until.get(digest, 0.0))

    def refer(self, id: str, digests: Iterable[str]) -> None:
        """The session needs these attachments."""
        self._log(id)
        attached = self._attached.setdefault(id, set())
        for digest in digests:
            attached.add(digest)
            self._held_until.pop(digest, None)

    def attachment(self, digest: str) -> bytes | None:
        """The bytes of that digest, or None."""
        return self._attachments.get(digest)

    def has_attachment(self, digest: str) -> bool:
        """Whether there are such bytes."""
        return digest in self._attachments

    def attachments(self, id: str) -> list[str]:
        """What the session refers to, its shared past included."""
        log: _Log | None = self._log(id)
        found: set[str] = set()
        while log is not None:
            found |= self._attached.get(log.row.id, set())
            log = log.parent
        return sorted(found)

    def _sweep(self) -> None:
        """Remove what no session refers to any more."""
        used = {digest for attached in tuple(self._attached.values()) for digest in tuple(attached)}
        now = self.now()
        for digest in list(self._attachments):
            if digest not in used and self._held_until.get(digest, 0.0) < now:
                del self._attachments[digest]
                self._held_until.pop(digest, None)

    # The store itself

    @property
    def trouble(self) -> None:
        """Nothing that lasts: memory takes every write."""

    def ready(self) -> None:
        """None: no other process uses this store."""

    def pack(self) -> bool:
        """Nothing to do: deleted sessions take no space."""
        return True

    def close(self) -> None:
        """Nothing to do."""

    def _log(self, id: str) -> _Log:
        try:
            return self._logs[id]
        except KeyError:
            raise UnknownSession(f"there is no session {id!r}") from None


def _ticks_in(snapshot: tuple[int, bytes]) -> int:
    return snapshot[0]


def _counts(entry: MemoryEntry, since: float, least: float) -> bool:
    sure = entry.confidence is None or entry.confidence >= least
    return sure and entry.created_at >= since


def _summary(entries: Sequence[MemoryEntry]) -> GroupSummary:
    return GroupSummary(entries[0].group, len(entries), max(entry.created_at for entry in entries))
