"""The store in a SQLite file: any number of processes, one driver for each session.

Writing is in `writer`, reading ticks in `ticks`, the file itself in `database`; the schema with
its reasons is in `migrations/`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rondel.engine.ticks import AnyTick
from rondel.errors import JournalError, RondelError, UnknownSession, Unstorable
from rondel.journal.attachments import used_in
from rondel.journal.clock import Clock
from rondel.journal.compact import encode
from rondel.journal.crash import ARMED, crash_point
from rondel.journal.rules import (
    JournalFindings,
    batches,
    check_deletable,
    check_fork,
    encoded_entries,
    encoded_row,
    packed,
)
from rondel.journal.sqlite import attachments, leases, rows, ticks, working_memory
from rondel.journal.sqlite.batch import ENDS, WHERE_IT_ENDS, SqliteHead, Write
from rondel.journal.sqlite.copies import copy_to
from rondel.journal.sqlite.database import PAGE, PATIENCE, Database, Readers
from rondel.journal.sqlite.verify import findings
from rondel.journal.sqlite.writer import SqliteWriter
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
"""The lease that a session was created with is handed to the first `acquire` while at least this
share of its time is left."""

LARGEST = 500_000_000
"""The most bytes of one record; SQLite takes a little less than a billion."""

_KEY = "(SELECT key FROM session WHERE id = ?)"

_DELETE_TICKS = """
DELETE FROM tick WHERE seq IN (
    WITH RECURSIVE past (seq) AS (
        SELECT last FROM extent WHERE session = ?
        UNION ALL
        SELECT tick.prev FROM past JOIN tick ON tick.seq = past.seq
    )
    SELECT seq FROM past
)
"""


class SqliteStore:
    """Sessions in one file; `durability` is `full`, `normal` or `off`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        durability: str = "normal",
        *,
        patience: float = PATIENCE,
        salvaging: bool = False,
    ) -> None:
        database = self._database = Database(path, durability, patience, salvaging=salvaging)
        self.path = database.path
        self._patience = patience
        self._writer = SqliteWriter(database)
        self._readers = Readers(database)
        self._heads: dict[str, SqliteHead] = {}
        self._clock = Clock()
        self._leases = leases.Leases(self._clock)

    # Sessions

    def create(self, row: SessionRow, owner: str | None = None, ttl: float = 0.0) -> Durable:
        """Add a session, and lease it to `owner`."""
        document, includes, inputs, labels = encoded_row(row)
        attached = used_in(row.inputs)
        head = SqliteHead(row.id)
        head.owner = owner

        def insert(db: sqlite3.Connection) -> None:
            if db.execute("SELECT 1 FROM session WHERE id = ?", (row.id,)).fetchone():
                raise JournalError(f"there is a session {row.id!r} already")
            parent = _parent_key(db, row)
            made = row.created_at or self._clock.now()
            graph = rows.graph_key(db, document, includes)
            fields = (row.id, graph, row.graph_id, inputs, labels, row.status, row.reason)
            times = (made, row.updated_at or made, row.due)
            key = db.execute(
                "INSERT INTO session (id, graph, graph_id, inputs, labels, status, reason, "
                "created_at, updated_at, due, parent, parent_length) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                (*fields, *times, parent, row.parent_length),
            ).lastrowid
            head.key = key or 0
            rows.seal(db, head.key)
            head.place(row.parent_length, None, None)
            db.execute("INSERT INTO head (session, length) VALUES (?, ?)", (key, row.parent_length))
            if owner is not None:
                if (row.status, row.due) == ("pending", None):
                    head.until = self._leases.until(ttl)
                self._leases.give(db, head.key, owner, ttl)
            if attached:
                attachments.refer(db, head.key, attached)

        if row.id not in self._heads or not self._heads[row.id].key:
            self._heads[row.id] = head
        deadline = time.monotonic() + self._patience
        return self._writer.submit(Write(head, None, insert, deadline))

    def session(self, id: str) -> SessionRow | None:
        """The session's row, or None."""
        with self._readers.snapshot() as db:
            return rows.one(db, id)

    def sessions(
        self,
        status: str | None = None,
        graph_id: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Sessions, newest first."""
        with self._readers.snapshot() as db:
            return rows.page(db, status, graph_id, before, limit)

    def statuses(self) -> dict[str, int]:
        """How many sessions are in each status."""
        with self._readers.snapshot() as db:
            return dict(db.execute("SELECT status, count(*) FROM session GROUP BY status"))

    def set_status(
        self, id: str, status: str, reason: str = "", due: float | None = None
    ) -> Durable:
        """Change the status without a tick."""
        head = self._head(id)
        change = self._changes(head, status, reason, None, due)
        return self._writer.submit(Write(head, None, change))

    def due(self, limit: int = 1000, noted_after: float = 0.0) -> list[Due]:
        """Sessions with a deadline, the earliest first."""
        with self._readers.snapshot() as db:
            return rows.due(db, limit, noted_after)

    def delete(self, id: str) -> None:
        """Forget a session that nobody drives and whose past no fork shares."""

        def job(db: sqlite3.Connection) -> None:
            key = _key(db, id)
            fork = db.execute("SELECT id FROM session WHERE parent = ?", (key,)).fetchone()
            check_deletable(id, fork[0] if fork else None, self._leases.running(db, id))
            (graph,) = db.execute("SELECT graph FROM session WHERE key = ?", (key,)).fetchone()
            db.execute(_DELETE_TICKS, (key,))
            for table in ("letter", "snapshot", "head"):
                db.execute(f"DELETE FROM {table} WHERE session = ?", (key,))  # noqa: S608
            db.execute("DELETE FROM session WHERE key = ?", (key,))
            working_memory.forget(db, Group(id, own=True))
            attachments.drop_references(db, key, self._clock.now())
            db.execute(
                "DELETE FROM graph WHERE key = ? "
                "AND NOT EXISTS (SELECT 1 FROM session WHERE graph = graph.key)",
                (graph,),
            )

        self._writer.run(id, job)
        self._heads.pop(id, None)

    # Ticks

    def writer(self, id: str) -> Callable[[AnyTick], Durable]:
        """`append` for one session."""
        heads, write = self._heads, self._writer.append

        def append(tick: AnyTick) -> Durable:
            head = heads.get(id)
            if ARMED or head is None or head.error is not None:
                return self.append(id, tick)
            record = encode(tick)
            if len(record) > LARGEST:
                raise _too_large(id, record)
            return write(head, record)

        return append

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
            raise _too_large(id, record)
        head = self._heads.get(id)
        if head is None or head.error is not None:
            head = self._head(id)
        if status is None and letter is None:
            durable = self._writer.append(head, record)
        else:
            also = self._changes(head, status, reason, letter, due)
            durable = self._writer.submit(Write(head, record, also))
        if ARMED:
            crash_point("after_append")
        return durable

    def extend(self, id: str, ticks: Iterable[AnyTick]) -> None:
        """Add many ticks at once; all are durable on return, or none."""
        head = self._head(id)
        self._writer.submit_all([Write(head, encode(tick)) for tick in ticks])

    def read(self, id: str, start: int, stop: int | None = None) -> Sequence[AnyTick]:
        """The ticks from the `start`-th on, the shared past of a fork included."""
        with self._readers.snapshot() as db:
            return ticks.read_ticks(db, id, start, stop)

    def scan(self, id: str, start: int = 0) -> Iterator[Sequence[AnyTick]]:
        """The ticks in batches, for sessions of any length."""
        return batches(self.read, id, start)

    # Who drives a session

    def acquire(self, id: str, owner: str, ttl: float) -> Lease:
        """Lease the session, unless another's lease runs."""
        known = self._heads.get(id)
        if known is not None and known.owner == owner and known.error is None:
            until, known.until = known.until, 0.0
            left = self._leases.left(until)
            if left > _FRESH * ttl:
                return Lease(owner, self._clock.now() + left)

        def job(db: sqlite3.Connection) -> tuple[Lease, SqliteHead]:
            head = SqliteHead(id, _key(db, id))
            running = self._leases.running(db, id)
            if running is not None and running.owner != owner:
                return Lease(running.owner, running.until, granted=False), head
            head.place(*db.execute(ENDS + WHERE_IT_ENDS, (head.key,)).fetchone())
            head.owner = owner
            self._leases.give(db, head.key, owner, ttl)
            status, due = rows.state(db, head.key)
            return Lease(owner, self._clock.now() + ttl, status=status, due=due), head

        lease, head = self._writer.run(id, job, must_last=False)
        if lease.granted:
            self._heads[id] = head
        return lease

    def renew(self, id: str, owner: str, ttl: float) -> bool:
        """Prolong a lease; False if it is not this owner's any more."""
        return self._writer.run(
            id, lambda db: self._leases.renew(db, id, owner, ttl), must_last=False
        )

    def release(self, id: str, owner: str) -> None:
        """Give a lease back; nothing happens if it is not this owner's."""
        self._writer.run_soon(id, lambda db: self._leases.take_back(db, id, owner))
        head = self._heads.get(id)
        if head is not None and head.owner == owner:
            del self._heads[id]

    def lease(self, id: str) -> Lease | None:
        """The lease that runs now, or None."""
        with self._readers.snapshot() as db:
            _key(db, id)
            return self._leases.running(db, id)

    # Letters

    def post(self, id: str, control: bytes) -> int:
        """Leave a control for whoever drives the session."""
        now = self._clock.now()
        return self._writer.run(id, lambda db: leases.post(db, _key(db, id), control, now))

    def letters(self, id: str) -> list[Letter]:
        """The letters not yet answered, oldest first."""
        with self._readers.snapshot() as db:
            return leases.unread(db, _key(db, id))

    def reply(self, id: str, letter: int, refusal: str = "") -> None:
        """Answer a letter that leads to no tick."""
        said, now = Reply(None, refusal), self._clock.now()
        self._writer.run_soon(id, lambda db: leases.reply(db, _key(db, id), letter, said, now))

    def reply_to(self, letter: int) -> Reply | None:
        """What became of a letter."""
        with self._readers.snapshot() as db:
            return leases.reply_to(db, letter)

    def pending(self, ids: Iterable[str] | None = None) -> set[str]:
        """Which sessions, or which of these, have letters."""
        with self._readers.snapshot() as db:
            found = leases.addressees(db)
        return found if ids is None else found.intersection(ids)

    def changes(self) -> int:
        """A number that changes when another process has written."""
        return self._writer.changes()

    # Snapshots

    def save_snapshot(self, id: str, n: int, blob: bytes) -> Durable:
        """Keep what the first `n` ticks fold to."""
        head = self._head(id)
        state = packed(blob)

        def insert(db: sqlite3.Connection) -> None:
            ticks.keep_snapshot(db, head.key, n, state)

        return self._writer.submit(Write(head, None, insert))

    def latest_snapshot(self, id: str, at_most: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot of at most that many ticks, from the shared past too."""
        with self._readers.snapshot() as db:
            return next(ticks.snapshots(db, id, at_most), None)

    # Working memory

    def remember(self, promotion: Promotion, since: float, size: int) -> list[MemoryEntry]:
        """Make these the step's entries, and drop what is too old or too much."""
        entries = encoded_entries(promotion)
        return self._writer.run(
            promotion.session,
            lambda db: working_memory.remember(db, promotion, entries, since, size),
        )

    def recall(
        self, group: Group, since: float, limit: int, least: float = 0.0
    ) -> list[MemoryEntry]:
        """The group's newest entries, newest first."""
        with self._readers.snapshot() as db:
            return working_memory.recall(db, group, since, limit, least)

    def forget(self, group: Group) -> int:
        """Empty a group."""
        return self._writer.run("", lambda db: working_memory.forget(db, group))

    def groups(self) -> list[GroupSummary]:
        """The groups that have entries."""
        with self._readers.snapshot() as db:
            return working_memory.groups(db)

    # Attachments

    def hold(self, content: bytes, until: float) -> None:
        """Keep bytes, once each."""
        pages = len(content) // PAGE
        self._writer.run("", lambda db: attachments.hold(db, content, until), pages=pages)

    def refer(self, id: str, digests: Iterable[str]) -> None:
        """The session needs these attachments."""
        self._writer.run(id, lambda db: attachments.refer(db, _key(db, id), digests))

    def attachment(self, digest: str) -> bytes | None:
        """The bytes of that digest, or None."""
        with self._readers.snapshot() as db:
            return attachments.content(db, digest)

    def has_attachment(self, digest: str) -> bool:
        """Whether there are such bytes."""
        with self._readers.snapshot() as db:
            return attachments.is_kept(db, digest)

    def attachments(self, id: str) -> list[str]:
        """What the session refers to, its shared past included."""
        with self._readers.snapshot() as db:
            _key(db, id)
            return attachments.used_by(db, id)

    # The store itself

    def now(self) -> float:
        """The time of the store."""
        return self._clock.now()

    @property
    def trouble(self) -> RondelError | None:
        """Why the file takes no writes."""
        return self._writer.trouble

    def ready(self) -> Durable:
        """None if the file takes writes now; otherwise await it first."""
        return self._writer.ready()

    def pack(self) -> bool:
        """Give the space of deleted sessions back to the disk."""
        return self._writer.pack()

    def verify(self) -> JournalFindings:
        """The state of the file and of every session in it."""
        with self._readers.snapshot() as db:
            return findings(db)

    def backup(self, target: Path) -> None:
        """Write all that is durable now to a new file; other writers are not stopped."""
        with self._readers.snapshot() as db:
            copy_to(db, target)

    @property
    def lacks_log(self) -> bool:
        """Whether the file was opened without the write-ahead log that belongs to it."""
        return self._database.lacks_log

    def close(self) -> None:
        """Make everything durable and close the file."""
        self._readers.close()
        self._writer.close()

    def _head(self, id: str) -> SqliteHead:
        head = self._heads.get(id)
        if head is not None and head.error is not None:
            if head.key:
                raise type(head.error)(str(head.error))
            del self._heads[id]
            head = None
        if head is None:
            with self._readers.snapshot() as db:
                found = SqliteHead(id, _key(db, id))
                found.place(*db.execute(ENDS + WHERE_IT_ENDS, (found.key,)).fetchone())
            head = self._heads.setdefault(id, found)
        return head

    def _changes(
        self,
        head: SqliteHead,
        status: str | None,
        reason: str,
        letter: int | None,
        due: float | None,
    ) -> Callable[[sqlite3.Connection], None]:
        """The changes that go into the transaction of a tick."""

        def change(db: sqlite3.Connection) -> None:
            if status is not None:
                head.until = 0.0
                rows.set_status(db, head.key, status, reason, self._clock.now(), due)
            if letter is not None:
                leases.reply(db, head.key, letter, Reply(head.length), self._clock.now())

        return change


def _too_large(id: str, record: bytes) -> Unstorable:
    return Unstorable(f"a tick of session {id!r} has {len(record):,} bytes; store a file")


# Pieces of SQL


def _key(db: sqlite3.Connection, id: str) -> int:
    row = db.execute("SELECT key FROM session WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise UnknownSession(f"there is no session {id!r}")
    return int(row[0])


def _parent_key(db: sqlite3.Connection, row: SessionRow) -> int | None:
    if row.parent is None:
        check_fork(row, 0)
        return None
    key = _key(db, row.parent)
    (length,) = db.execute("SELECT length FROM extent WHERE session = ?", (key,)).fetchone()
    check_fork(row, length)
    return key
