"""The one hand that writes to a SQLite journal: whatever is queued shares a commit.

A lone session commits where it appends, the quick way (`follower`): handing over to a thread
costs several times what the commit does. When several sessions append in the same turn of the
event loop, the turn ends with one commit for all of them. On a disk where a commit takes long, and
while another process holds the lock, a thread commits and the loop runs on. The thread also moves
what was committed from the write-ahead log into the file, which takes the longest.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from rondel.errors import JournalClosed, JournalError, LeaseLost, RondelError
from rondel.journal.crash import ARMED, crash_point
from rondel.journal.database import PAGE, Database, is_busy, rollback
from rondel.journal.follower import Follower
from rondel.journal.head import Head
from rondel.journal.store import Durable
from rondel.journal.write import Write, settle_all

SLOW = 0.001
"""Seconds of a commit above which it is left to the thread."""

CHECKPOINT = 8000
"""Pages in the write-ahead log, roughly, after which they are moved into the file."""

CHECKPOINT_OF_FULL = 500
"""The same where every commit waits for the disk, which takes twice as long while the log grows:
emptied early, it is written over again at the length that it has."""

_SMOOTHING = 0.2
_HICCUP = 2 * SLOW
"""What a commit counts at most: four slow ones in a row make a slow disk, one does not."""

_TAIL = "SELECT seq, session, n FROM tick ORDER BY seq DESC LIMIT 1"
_SETTLE = "UPDATE head SET length = ?, last = ? WHERE session = ? AND length < ?"
_MOVE = "UPDATE head SET length = ?, last = ? WHERE session = ? AND length = ? AND owner IS ?"
_INSERT = "INSERT INTO tick (seq, session, n, prev, record) VALUES "
_FIELDS = 5
_INSERTS = [(rows, _INSERT + ", ".join(["(?, ?, ?, ?, ?)"] * rows)) for rows in (64, 16, 4, 1)]
"""One statement for many rows takes half as long as one for each."""

_running_loop = asyncio._get_running_loop

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]


class Writer:
    """Takes writes from any thread and any event loop, and keeps their order."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._db = database.open()
        self._queue: deque[Write] = deque()
        self._writing = threading.Lock()
        self._follower = Follower(self._db, self._writing)
        self._stopped: RondelError | None = None
        self._latest: Head | None = None
        self._turn: asyncio.AbstractEventLoop | None = None
        """The loop that will commit the queue at the end of its turn."""
        self._pace = 0.0
        """What a commit has taken of late."""
        self._thread: threading.Thread | None = None
        self._bell = threading.Event()
        self._pages = 0
        """What the write-ahead log has grown by, at least."""
        full = database.durability == "full"
        self._limit = min(CHECKPOINT, CHECKPOINT_OF_FULL) if full else CHECKPOINT
        self._version = 0

    # What the store asks for

    def append(self, head: Head, record: bytes) -> Durable:
        """Write a tick in its turn; None if that has happened already."""
        loop = self._turn
        if loop is not None and loop is _running_loop() and self._stopped is None:
            self._latest = head
            return self._enqueue(Write(head, record), loop)
        quick = self._latest is head and head.error is None and not self._queue
        if quick and self._pace < SLOW and self._writing.acquire(blocking=False):
            try:
                if self._stopped is None and self._follow(head, record):
                    return None
            finally:
                self._writing.release()
        return self.submit(Write(head, record))

    def submit(self, write: Write) -> Durable:
        """Write it in its turn; None if that has happened already."""
        self._demand_open()
        alone = self._latest is write.head and not self._queue
        self._latest = write.head
        loop = _running_loop()
        if loop is None:
            self._commit_here(write)
            return None
        if alone and self._pace < SLOW and self._commit_at_once(write):
            return None
        durable = self._enqueue(write, loop)
        if self._turn is not loop:
            self._turn = loop
            loop.call_soon(self._end_turn, loop)
        return durable

    def _enqueue(self, write: Write, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        write.future = loop.create_future()
        self._queue.append(write)
        return write.future

    def submit_all(self, writes: list[Write]) -> None:
        """Write them in one transaction, after what is queued."""
        with self._writing:
            self._flush()
            self._commit(writes)
        for write in writes:
            if write.error is not None:
                raise write.error

    def run(self, id: str, job: Job[T], *, must_last: bool = True, pages: int = 0) -> T:
        """Do the job in a transaction of its own, after what is queued for the session.

        What need not outlast a power cut is spared the wait for the disk; `pages` is what a large
        one adds to the log.
        """
        relax = not must_last and self._database.durability == "full"
        with self._writing:
            if any(write.head.id == id for write in list(self._queue)):
                self._flush()
            self._demand_open()
            self._follower.let_go()
            db = self._db
            try:
                if relax:
                    db.execute("PRAGMA synchronous = NORMAL")
                self._database.begin(db)
                result = job(db)
                db.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._explain(error) from error
            finally:
                rollback(db)
                if relax:
                    db.execute("PRAGMA synchronous = FULL")
            self._pages += pages
            if self._pages >= self._limit:
                self._ring()
            return result

    def changes(self) -> int:
        """A number that changes when another connection has written."""
        if self._stopped is None and self._writing.acquire(blocking=False):
            try:
                self._follower.let_go()
                (self._version,) = self._db.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise self._explain(error) from error
            finally:
                self._writing.release()
        return self._version

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        with self._writing:
            if isinstance(self._stopped, JournalClosed):
                return
            failed = self._flush()
            self._stopped = JournalClosed(f"the journal {self._database.path} is closed")
            self._follower.close()
            self._db.close()
        self._bell.set()
        if self._thread is not None:
            self._thread.join()
        if failed is not None:
            raise failed

    def _demand_open(self) -> None:
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped))

    # Where a write is committed

    def _commit_here(self, write: Write) -> None:
        """In this thread, which has no loop and can wait."""
        with self._writing:
            self._flush()
            self._commit([write])
        if write.error is not None:
            raise write.error

    def _commit_at_once(self, write: Write) -> bool:
        """In this turn, unless somebody is in the way."""
        if not self._writing.acquire(blocking=False):
            return False
        try:
            if self._queue:
                return False
            if not self._try_commit([write]):
                return False
        finally:
            self._writing.release()
        if write.error is not None:
            raise write.error
        return True

    def _end_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """At the end of a loop's turn: one commit for all who appended in it."""
        self._turn = None
        if not self._queue:
            return
        if self._pace >= SLOW or not self._writing.acquire(blocking=False):
            self._ring()
            return
        batch = self._take()
        try:
            done = self._try_commit(batch)
            if not done:
                self._queue.extendleft(reversed(batch))
        finally:
            self._writing.release()
        if done:
            self._wake(batch, loop)
        else:
            self._ring()

    def _ring(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name=f"rondel-journal-{id(self):x}", daemon=True
            )
            self._thread.start()
        if not self._bell.is_set():
            self._bell.set()

    def _work(self) -> None:
        while True:
            self._bell.wait()
            self._bell.clear()
            with self._writing:
                if isinstance(self._stopped, JournalClosed):
                    return
                self._flush()
                if self._pages >= self._limit:
                    self._pages = 0
                    self._follower.let_go()
                    with suppress(sqlite3.Error):  # the log holds it all; next time, then
                        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    # The commit; the caller holds `_writing`

    def _take(self) -> list[Write]:
        take = self._queue.popleft
        return [take() for _ in range(len(self._queue))]

    def _flush(self) -> RondelError | None:
        """Write all that is queued; an error, if some of it could not be."""
        batch = self._take()
        if not batch:
            return None
        self._commit(batch)
        self._wake(batch)
        return next((write.error for write in batch if write.error), None)

    def _follow(self, head: Head, record: bytes) -> bool:
        """Write a tick the quick way; False if that way is not open."""
        if ARMED:
            crash_point("before_commit")
        began = time.perf_counter()
        try:
            if not self._follower.write(head, record, began):
                return False
        except sqlite3.Error as error:
            head.error = self._explain(error)
            raise head.error from error
        self._committed(began, 1 + len(record) // PAGE)
        return True

    def _commit(self, batch: list[Write]) -> None:
        """Write the batch, waiting for other processes; each write has its error or is durable."""
        self._follower.let_go()
        try:
            self._demand_open()
            self._database.begin(self._db)
        except sqlite3.Error as error:
            self._refuse(batch, self._explain(error))
        except RondelError as error:
            self._refuse(batch, error)
        else:
            self._finish(batch)

    def _try_commit(self, batch: list[Write]) -> bool:
        """The same without waiting; False if another process is writing."""
        self._follower.let_go()
        try:
            self._demand_open()
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if is_busy(error):
                return False
            self._refuse(batch, self._explain(error))
        except RondelError as error:
            self._refuse(batch, error)
        else:
            self._finish(batch)
        return True

    def _finish(self, batch: list[Write]) -> None:
        try:
            heads, pages = self._apply(batch)
            if ARMED:
                crash_point("before_commit")
            began = time.perf_counter()
            self._db.execute("COMMIT")
            self._committed(began, pages)
        except Exception as error:  # whatever it is, those who wait must hear of it
            rollback(self._db)
            self._refuse(batch, self._explain(error))
            return
        for head in heads:
            head.stored = head.length

    def _committed(self, began: float, pages: int) -> None:
        if ARMED:
            crash_point("after_commit")
        took = min(time.perf_counter() - began, _HICCUP)
        self._pace += _SMOOTHING * (took - self._pace)
        self._pages += pages
        if self._pages >= self._limit:
            self._ring()

    def _apply(self, batch: list[Write]) -> tuple[list[Head], int]:
        """Put the batch into the open transaction, without what has become impossible.

        The sessions that have new ticks, and how many pages that takes, roughly.
        """
        seq = self._settle_last()
        heads: list[Head] = []
        values: list[int | bytearray | None] = []
        size = 0
        for write in batch:
            head, record = write.head, write.record
            if head.error is not None or write.also is not None:
                self._do_other_change(write)
            if record is None or write.error is not None:
                continue
            length = head.length
            if length == head.stored:
                heads.append(head)
            seq += 1
            values += (seq, head.key, length, head.last, bytearray(record))
            head.length = length + 1
            head.last = seq
            size += len(record)
        moves = [(head.length, head.last, head.key, head.stored, head.owner) for head in heads]
        if heads and self._db.executemany(_MOVE, moves).rowcount != len(heads):
            return self._apply_without_losers(batch, heads)
        self._insert(values)
        return heads, 2 + len(heads) // 16 + size // PAGE

    def _insert(self, values: list[int | bytearray | None]) -> None:
        """Add the rows of ticks whose fields these are, one after the other."""
        start = 0
        for rows, statement in _INSERTS:
            width = rows * _FIELDS
            while len(values) - start >= width:
                self._db.execute(statement, values[start : start + width])
                start += width

    def _settle_last(self) -> int:
        """Bring the head of the file's last tick up to date; the tick's place."""
        row = self._db.execute(_TAIL).fetchone()
        if row is None:
            return 0
        seq, session, n = row
        self._db.execute(_SETTLE, (n + 1, seq, session, n + 1))
        return int(seq)

    def _do_other_change(self, write: Write) -> None:
        """What is asked for besides a tick, or instead of one, unless that is impossible."""
        if write.head.error is not None:
            write.error = write.head.error
        elif write.also is not None and write.error is None:
            try:
                write.also(self._db)
            except RondelError as error:
                write.error = error
                if not write.head.key:
                    write.head.error = error

    def _apply_without_losers(
        self, batch: list[Write], heads: list[Head]
    ) -> tuple[list[Head], int]:
        """Some session is not as this process left it: begin again without such sessions."""
        rollback(self._db)
        self._database.begin(self._db)
        for head in heads:
            row = self._db.execute(
                "SELECT length, last, owner FROM extent WHERE session = ?", (head.key,)
            ).fetchone()
            if row is None or (row[0], row[2]) != (head.stored, head.owner):
                head.error = _lost(head, row)
            else:
                head.place(row[0], row[1])
        return self._apply(batch)

    @staticmethod
    def _refuse(batch: list[Write], error: RondelError) -> None:
        """Nothing of the batch was written, so its sessions are not what their drivers think."""
        for write in batch:
            write.error = write.error or error
            write.head.error = write.head.error or error

    def _explain(self, error: Exception) -> JournalError:
        """What went wrong; unless trying again may help, nothing is written any more."""
        if isinstance(error, sqlite3.Error):
            explained = self._database.explain(error)
            if is_busy(error):
                return explained
        else:
            explained = JournalError(f"the journal {self._database.path} failed: {error!r}")
        self._stopped = explained
        return explained

    # Those who wait

    @staticmethod
    def _wake(batch: list[Write], here: asyncio.AbstractEventLoop | None = None) -> None:
        """Tell everybody who waits, with one call for each loop; `here` is the running one."""
        if ARMED:
            crash_point("before_wake")
        waited: dict[asyncio.AbstractEventLoop, list[Write]] = {}
        for write in batch:
            if write.future is not None:
                waited.setdefault(write.future.get_loop(), []).append(write)
        for loop, writes in waited.items():
            if loop is here:
                settle_all(writes)
            else:
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(settle_all, writes)


def _lost(head: Head, row: tuple[int, int | None, str | None] | None) -> RondelError:
    if row is None:
        return LeaseLost(f"session {head.id!r} was deleted")
    length, _, owner = row
    if owner is not None and owner != head.owner:
        return LeaseLost(f"session {head.id!r} is driven by {owner} now; acquire it first")
    if length != head.stored:
        return LeaseLost(
            f"somebody else wrote to session {head.id!r}: it has {length} ticks where this "
            f"process knew {head.stored}; acquire it and read it again"
        )
    return LeaseLost(f"the lease of session {head.id!r} was given back; acquire it first")
