"""The store in a PostgreSQL database: any number of machines, one driver for each session.

Writing is in `writer` and `batch`, reading ticks in `ticks`, what goes between processes in
`notifications`, the database itself in `database`; the schema with its reasons is in `migrations/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from weakref import WeakValueDictionary

from rondel.engine.ticks import AnyTick
from rondel.errors import UnknownSession, Unstorable
from rondel.journal.attachments import used_in
from rondel.journal.clock import elapsed
from rondel.journal.compact import encode
from rondel.journal.crash import ARMED, crash_point
from rondel.journal.postgres import attachments, leases, rows, ticks, verify, working_memory
from rondel.journal.postgres.change import Change, NewSession, NewSnapshot, PostgresHead, is_fresh
from rondel.journal.postgres.connections import ConnectionPool
from rondel.journal.postgres.database import PATIENCE, Connection, PostgresDatabase, stored, told
from rondel.journal.postgres.notifications import NotificationThread
from rondel.journal.postgres.writer import PostgresWriter
from rondel.journal.rules import (
    JournalFindings,
    batches,
    check_deletable,
    check_fork,
    encoded_entries,
    encoded_row,
    packed,
)
from rondel.journal.store import (
    Due,
    Durable,
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

_FRESH = 0.9
"""How much of its time the lease that a session was made with must have left to be good for the
first who asks for it."""

LARGEST = 250_000_000
"""Bytes that one record may have; a statement of PostgreSQL takes a billion, as text."""


class PostgresStore:
    """Sessions in one database; `durability` is `full`, `normal` (the same here) or `off`."""

    def __init__(self, url: str, durability: str = "normal", *, patience: float = PATIENCE) -> None:
        database = PostgresDatabase(url, durability, patience)
        self.name = database.name
        self._connections = ConnectionPool(database, database.open())
        self._epoch = self._connections.call(_clock) - monotonic()
        self._notifications = NotificationThread(database)
        self._writer = PostgresWriter(database, self._notifications.touch)
        self._heads: dict[str, PostgresHead] = {}
        self._released: WeakValueDictionary[str, PostgresHead] = WeakValueDictionary()
        """Sessions whose lease is being given back."""

    def __str__(self) -> str:
        return self.name

    # Sessions

    def create(self, row: SessionRow, owner: str | None = None, ttl: float = 0.0) -> Durable:
        """Add a session, and lease it to `owner`."""
        if row.parent is None:
            check_fork(row, 0)
        birth = NewSession(
            row,
            *encoded_row(row),
            [bytes.fromhex(digest) for digest in used_in(row.inputs)],
            ttl,
        )
        head = PostgresHead(row.id, owner=owner)
        if row.id not in self._heads or not self._heads[row.id].key:
            self._heads[row.id] = head
        return self._writer.submit(Change(head, birth=birth))

    def session(self, id: str) -> SessionRow | None:
        """The session's row, or None."""
        return self._connections.call(lambda db: rows.one(db, id))

    def sessions(
        self,
        status: str | None = None,
        graph_id: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Sessions, newest first."""
        return self._connections.call(lambda db: rows.page(db, status, graph_id, before, limit))

    def statuses(self) -> dict[str, int]:
        """How many sessions are in each status."""
        return self._connections.call(rows.statuses)

    def set_status(
        self, id: str, status: str, reason: str = "", due: float | None = None
    ) -> Durable:
        """Change the status without a tick."""
        return self._writer.submit(Change(self._head(id), [], status, reason, due=due))

    def due(self, limit: int = 1000, noted_after: float = 0.0) -> list[Due]:
        """Sessions that need somebody at a time, the earliest first."""
        return self._connections.call(lambda db: rows.due(db, limit, noted_after))

    def delete(self, id: str) -> None:
        """Forget a session that nobody drives and whose past no fork shares."""

        def job(db: Connection) -> None:
            with db.transaction():
                key = _key(db, id)
                db.execute("SELECT 1 FROM rondel.head WHERE session = %s FOR UPDATE", (key,))
                asked = "SELECT id FROM rondel.session WHERE parent = %s LIMIT 1"
                fork = db.execute(asked, (key,)).fetchone()
                check_deletable(id, told(fork[0]) if fork else None, leases.running(db, id))
                leases.erase(db, key)
                working_memory.forget(db, Group(id, own=True))
                attachments.let_go(db, key)

        self._after_writing(id)
        self._connections.once(job)
        self._heads.pop(id, None)
        self._notifications.touch()

    # Ticks

    def writer(self, id: str) -> Callable[[AnyTick], Durable]:
        """`append` for one session."""
        return lambda tick: self.append(id, tick)

    def append(
        self,
        id: str,
        tick: AnyTick,
        status: str | None = None,
        reason: str = "",
        letter: int | None = None,
        due: float | None = None,
    ) -> Durable:
        """Add a tick, and with it a new status and the end of the letter that it answers."""
        if ARMED:
            crash_point("before_append")
        record = encode(tick)
        if len(record) > LARGEST:
            raise Unstorable(f"a tick of session {id!r} has {len(record):,} bytes; store a file")
        head = self._head(id)
        durable = self._writer.submit(Change(head, [record], status, reason, letter, due))
        if ARMED:
            crash_point("after_append")
        return durable

    def extend(self, id: str, ticks: Iterable[AnyTick]) -> None:
        """Add many ticks at once; all are durable on return, or none."""
        self._writer.write_now(Change(self._head(id), [encode(tick) for tick in ticks]))

    def read(self, id: str, start: int, stop: int | None = None) -> Sequence[AnyTick]:
        """The ticks from the `start`-th on, the shared past of a fork included."""
        return self._connections.call(lambda db: ticks.read_ticks(db, id, start, stop))

    def scan(self, id: str, start: int = 0) -> Iterator[Sequence[AnyTick]]:
        """The same in batches, for sessions of any length."""
        return batches(self.read, id, start)

    # Who drives a session

    def acquire(self, id: str, owner: str, ttl: float) -> Lease:
        """Lease the session, unless another's lease runs."""
        known = self._heads.get(id)
        if known is not None and is_fresh(known, owner, ttl, _FRESH):
            return Lease(owner, ttl)
        self._after_writing(id)
        asked = elapsed()
        found = self._connections.call(lambda db: leases.acquire(db, id, owner, ttl))
        if found is None:
            raise UnknownSession(f"there is no session {id!r}")
        lease, key, length = found
        if lease.granted:
            head = self._heads[id] = PostgresHead(id, key, length, owner)
            head.until = asked + ttl
        return lease

    def renew(self, id: str, owner: str, ttl: float) -> bool:
        """Prolong a lease; False if it is not this owner's any more.

        For a session that is driven here nothing waits for the database: all leases of its owner
        are prolonged together. It is asked where that has not happened for so long that another
        may have the session: this process stood still, or the database was away.
        """
        head, asked = self._heads.get(id), elapsed()
        if head is None or head.owner != owner or head.error is not None:
            return self._connections.call(lambda db: leases.renew(db, id, owner, ttl))
        prolonged = self._notifications.keep(owner, ttl)
        if asked < head.until:
            head.until = max(head.until, prolonged)
        if head.until < asked + ttl / 2:
            if not self._connections.call(lambda db: leases.renew(db, id, owner, ttl)):
                return False
            head.until = asked + ttl
        return True

    def release(self, id: str, owner: str) -> None:
        """Give a lease back; nothing happens if it is not this owner's."""
        head = self._heads.get(id)
        if head is not None and head.owner == owner and head.key:
            self._writer.submit(Change(head, release=owner))
            self._released[id] = self._heads.pop(id)
            return
        self._after_writing(id)
        self._connections.call(lambda db: leases.release(db, id, owner))

    def lease(self, id: str) -> Lease | None:
        """The lease that runs now, or None."""
        self._after_writing(id)
        return self._connections.call(lambda db: leases.running(db, id))

    def abandoned(self, limit: int = 100) -> list[str]:
        """Sessions that nobody drives though there is something to do, the oldest first."""
        return self._connections.call(lambda db: leases.abandoned(db, limit))

    # Letters

    def post(self, id: str, control: bytes) -> int:
        """Leave a control for whoever drives the session."""
        number = self._connections.once(lambda db: leases.post(db, id, control))
        if number is None:
            raise UnknownSession(f"there is no session {id!r}")
        self._notifications.touch()
        return number

    def letters(self, id: str) -> list[Letter]:
        """The letters not yet answered, oldest first."""
        return self._connections.call(lambda db: leases.letters(db, _key(db, id)))

    def reply(self, id: str, letter: int, refusal: str = "") -> None:
        """Answer a letter that leads to no tick."""
        self._connections.call(lambda db: leases.reply(db, id, letter, refusal))
        self._notifications.touch()

    def reply_to(self, letter: int) -> Reply | None:
        """What became of a letter, for an hour after it was answered; None before."""
        return self._connections.call(lambda db: leases.reply_to(db, letter))

    def pending(self, ids: Iterable[str] | None = None) -> set[str]:
        """Which sessions, or which of these, have letters."""
        wanted = None if ids is None else [stored(name) for name in ids]
        if wanted == []:
            return set()
        return self._connections.call(lambda db: leases.pending(db, wanted))

    def changes(self) -> int:
        """A number that changes when another process has written."""
        return self._notifications.changes()

    # Snapshots

    def save_snapshot(self, id: str, n: int, blob: bytes) -> Durable:
        """Keep what the first `n` ticks fold to."""
        snapshot = NewSnapshot(n, packed(blob))
        return self._writer.submit(Change(self._head(id), snapshot=snapshot))

    def latest_snapshot(self, id: str, at_most: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot of at most that many ticks, from the shared past too."""
        return self._connections.call(lambda db: ticks.latest_snapshot(db, id, at_most))

    # Working memory

    def remember(self, promotion: Promotion, since: float, size: int) -> list[MemoryEntry]:
        """Make these the step's entries, and drop what is too old or too much."""
        entries = encoded_entries(promotion)
        return self._connections.call(
            lambda db: working_memory.remember(db, promotion, entries, since, size)
        )

    def recall(
        self, group: Group, since: float, limit: int, least: float = 0.0
    ) -> list[MemoryEntry]:
        """The group's newest entries, newest first."""
        return self._connections.call(
            lambda db: working_memory.recall(db, group, since, limit, least)
        )

    def forget(self, group: Group) -> int:
        """Empty a group."""
        return self._connections.call(lambda db: working_memory.forget(db, group))

    def groups(self) -> list[GroupSummary]:
        """The groups that have entries."""
        return self._connections.call(working_memory.groups)

    # Attachments

    def hold(self, content: bytes, until: float) -> None:
        """Keep bytes, once each."""
        self._connections.call(lambda db: attachments.hold(db, content, until))

    def refer(self, id: str, digests: Iterable[str]) -> None:
        """The session needs these attachments."""
        needed = list(digests)
        self._connections.call(lambda db: attachments.refer(db, _key(db, id), needed))

    def attachment(self, digest: str) -> bytes | None:
        """The bytes of that digest, or None."""
        return self._connections.call(lambda db: attachments.content(db, digest))

    def has_attachment(self, digest: str) -> bool:
        """Whether there are such bytes."""
        return self._connections.call(lambda db: attachments.is_kept(db, digest))

    def attachments(self, id: str) -> list[str]:
        """What the session refers to, its shared past included."""
        self._connections.call(lambda db: _key(db, id))
        return self._connections.call(lambda db: attachments.used_by(db, id))

    # The store itself

    def now(self) -> float:
        """The time by the database's clock, which passes evenly here."""
        return self._epoch + monotonic()

    @property
    def trouble(self) -> None:
        """Nothing that lasts: a database that is away is waited for."""

    def ready(self) -> Durable:
        """None if the database can be reached; else it can once this has been awaited."""
        return self._connections.ready()

    def pack(self) -> bool:
        """The server gives the space of what was deleted back by itself."""
        return True

    def verify(self) -> JournalFindings:
        """What is wrong with the sessions, and what is not."""
        return self._connections.call(verify.findings)

    @property
    def has_page_checksums(self) -> bool:
        """Whether the server checks every page that it reads."""
        return self._connections.call(verify.has_page_checksums)

    def close(self) -> None:
        """Make everything durable and let go of the database."""
        self._writer.close()
        self._notifications.close()
        self._connections.close()

    def _after_writing(self, id: str) -> None:
        """Go on once all is written that was asked for in the session."""
        self._writer.finish(self._heads.get(id))
        self._writer.finish(self._released.pop(id, None))

    def _head(self, id: str) -> PostgresHead:
        head = self._heads.get(id)
        if head is not None and head.error is not None:
            if head.key:
                raise type(head.error)(str(head.error))
            del self._heads[id]
            head = None
        if head is None:
            found = self._connections.call(lambda db: leases.place(db, id))
            if found is None:
                raise UnknownSession(f"there is no session {id!r}")
            head = self._heads.setdefault(id, PostgresHead(id, *found))
        return head


def _clock(db: Connection) -> float:
    (now,) = db.execute("SELECT rondel.now()").fetchone() or (0.0,)
    return float(now)


def _key(db: Connection, id: str) -> int:
    row = db.execute("SELECT key FROM rondel.session WHERE id = %s", (stored(id),)).fetchone()
    if row is None:
        raise UnknownSession(f"there is no session {id!r}")
    return int(row[0])
