"""The only writer of a SQLite journal: all queued writes share one commit.

A session that writes alone commits at once, on the fast path (`follower`), since a change of
threads costs several times as much as the commit. If several sessions append in the same turn of
the event loop, one commit at the end of the turn writes all of them. On a slow disk, and while
another process holds the lock, a thread commits and the loop runs on; nothing queued is lost,
however long that takes. The thread also moves commits from the write-ahead log into the file,
which takes the longest.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from rondel.errors import (
    JournalClosed,
    JournalError,
    JournalFull,
    JournalLocked,
    JournalUnwritable,
    RondelError,
)
from rondel.journal.crash import ARMED, crash_point
from rondel.journal.rules import wake
from rondel.journal.sqlite.batch import SqliteHead, Write, write_batch
from rondel.journal.sqlite.database import NAP, PAGE, Database, is_busy, rollback
from rondel.journal.sqlite.follower import Follower
from rondel.journal.sqlite.log import Log
from rondel.journal.sqlite.openings import Openings
from rondel.journal.store import Durable

SLOW = 0.001
"""If commits take longer than this many seconds, the thread makes them."""

AGAIN = 30.0
"""Seconds after which a full disk may have room again."""

_SMOOTHING = 0.2
_HICCUP = 2 * SLOW
"""The most seconds that one commit counts: four slow commits in a row mean a slow disk."""

_running_loop = asyncio._get_running_loop

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]


class SqliteWriter:
    """Takes writes from any thread and any event loop, and keeps their order."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._db = database.open()
        self._queue: deque[Write] = deque()
        self._writing = threading.Lock()
        self._follower = Follower(self._db, self._writing)
        self._stopped: RondelError | None = None
        self._full: tuple[float, JournalFull] | None = None
        """When the disk was found full last."""
        self._latest: SqliteHead | None = None
        self._turn: asyncio.AbstractEventLoop | None = None
        """The loop that will commit the queue at the end of its turn."""
        self._pace = 0.0
        """A running average of the seconds that a commit takes."""
        self._thread: threading.Thread | None = None
        self._wakeup = threading.Event()
        self._log = Log(database, self._db)
        self._openings = Openings(database, self._db)
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        self._version: int = version

    # What the store asks for

    def append(self, head: SqliteHead, record: bytes) -> Durable:
        """Queue a tick; None if it is durable already."""
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
        """Queue a write; None if it is durable already."""
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

    def run(
        self, id: str, job: Job[T], *, must_last: bool = True, pages: int = 0, patient: bool = True
    ) -> T:
        """Do the job in a transaction of its own, after what is queued for the session.

        Without `must_last` it does not wait for the disk. `pages` is what a large job adds to the
        log. Raises JournalLocked if another process holds the lock too long.
        """
        relax = not must_last and self._database.durability == "full"
        with self._writing:
            if any(write.head.id == id for write in list(self._queue)):
                self._flush(patient=patient)
            self._demand_open()
            db = self._db
            try:
                if relax:
                    self._follower.end_reading()
                    db.execute("PRAGMA synchronous = NORMAL")
                self._begin(patient=patient)
                result = job(db)
                db.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._explain(error) from error
            finally:
                rollback(db)
                if relax:
                    db.execute("PRAGMA synchronous = FULL")
            if self._log.grows(pages):
                self._wake_thread()
            return result

    def run_soon(self, id: str, job: Job[object]) -> None:
        """Do the job now, or as soon as another process releases the lock."""
        try:
            self.run(id, job, must_last=False, patient=_running_loop() is None)
        except JournalLocked:
            if _running_loop() is None:
                raise
            self._queue.append(Write(SqliteHead(id), None, job, alone=True))
            self._wake_thread()

    def ready(self) -> Durable:
        """None if the file takes writes now; otherwise await it first."""
        loop = _running_loop()
        if loop is None:
            return None
        try:
            self.run("", lambda _: None, must_last=False, patient=False)
        except JournalLocked:
            waiting = self._enqueue(Write(SqliteHead(""), None), loop)
            self._wake_thread()
            return waiting
        return None

    def pack(self) -> bool:
        """Give the space of deleted sessions back; False if another process is in the way."""
        with self._writing:
            try:
                self._flush()
                self._demand_open()
                self._follower.end_reading()
                return self._log.pack()
            except JournalLocked:
                return False
            except sqlite3.Error as error:
                if is_busy(error):
                    return False
                raise self._explain(error) from error

    def changes(self) -> int:
        """A number that changes when another connection has written."""
        if self._stopped is None and self._writing.acquire(blocking=False):
            try:
                self._follower.end_reading()
                (self._version,) = self._db.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise self._explain(error) from error
            finally:
                self._writing.release()
        return self._version

    @property
    def trouble(self) -> RondelError | None:
        """Why nothing is written; a disk that was full half a minute ago may have room again."""
        if self._full is not None and time.monotonic() - self._full[0] < AGAIN:
            return self._full[1]
        return self._stopped

    def close(self) -> None:
        """Write what is queued and close the file."""
        with self._writing:
            if isinstance(self._stopped, JournalClosed):
                return
            failed = self._flush_at_last()
            self._stopped = JournalClosed(f"the journal {self._database.path} is closed")
            self._follower.close()
            self._openings.close()
            self._db.close()
        self._wakeup.set()
        if self._thread is not None:
            self._thread.join()
        if failed is not None:
            raise failed

    def _demand_open(self) -> None:
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped))

    # Where a write is committed

    def _commit_here(self, write: Write) -> None:
        """Commit in this thread, which has no event loop and can wait."""
        with self._writing:
            self._flush()
            self._commit([write])
        if write.error is not None:
            raise write.error

    def _commit_at_once(self, write: Write) -> bool:
        """Commit in this turn of the loop, unless another process holds the lock."""
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
        """Make one commit at the end of a loop's turn, for all appends of that turn."""
        self._turn = None
        if not self._queue:
            return
        if self._pace >= SLOW or not self._writing.acquire(blocking=False):
            self._wake_thread()
            return
        batch = self._next_batch()
        try:
            done = self._try_commit(batch)
            if not done:
                self._queue.extendleft(reversed(batch))
        finally:
            self._writing.release()
        if done:
            self._wake(batch, loop)
        if self._queue:
            self._wake_thread()

    def _wake_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name=f"rondel-journal-{id(self):x}", daemon=True
            )
            self._thread.start()
        if not self._wakeup.is_set():
            self._wakeup.set()

    def _work(self) -> None:
        while not isinstance(self._stopped, JournalClosed):
            self._wakeup.wait()
            self._wakeup.clear()
            while self._is_held_up():
                time.sleep(NAP)

    def _is_held_up(self) -> bool:
        """Write what is queued; True if another process holds the lock and nothing was written.

        This writer's own lock is released between two tries, so that no other thread waits.
        """
        with self._writing:
            if isinstance(self._stopped, JournalClosed):
                return False
            try:
                self._flush(patient=False)
            except JournalLocked as error:
                self._refuse_late(error)
                return bool(self._queue)
            if self._log.is_due:
                self._follower.end_reading()
                self._log.checkpoint()
        return False

    # The commit; the caller holds `_writing`

    def _next_batch(self) -> list[Write]:
        """The writes of the next transaction."""
        queue = self._queue
        batch = [queue.popleft()]
        while queue and not (batch[0].alone or queue[0].alone):
            batch.append(queue.popleft())
        return batch

    def _flush(self, *, patient: bool = True) -> RondelError | None:
        """Write all that is queued; returns the error if some of it could not be written.

        Raises JournalLocked if another process holds the lock; everything then stays queued.
        """
        failed: RondelError | None = None
        while self._queue:
            try:
                self._begin(patient=patient)
            except JournalLocked:
                raise
            except RondelError as error:
                batch = self._next_batch()
                self._refuse(batch, error)
            else:
                batch = self._next_batch()
                self._finish(batch)
            self._wake(batch)
            failed = failed or next((write.error for write in batch if write.error), None)
        return failed

    def _refuse_late(self, error: JournalLocked) -> None:
        """Give up the writes whose deadline has passed."""
        now = time.monotonic()
        late = [w for w in list(self._queue) if w.deadline is not None and w.deadline <= now]
        for write in late:
            self._queue.remove(write)
        self._refuse(late, error)
        self._wake(late)

    def _flush_at_last(self) -> RondelError | None:
        """Write all that is queued, or give each write the reason why it never will be."""
        try:
            return self._flush()
        except JournalLocked as error:
            batch = list(self._queue)
            self._queue.clear()
            self._refuse(batch, error)
            self._wake(batch)
            return error

    def _follow(self, head: SqliteHead, record: bytes) -> bool:
        """Write a tick on the fast path; False if that does not apply."""
        if ARMED:
            crash_point("before_commit")
        self._demand_file()
        began = time.perf_counter()
        try:
            if not self._follower.write(head, record, began):
                return False
        except sqlite3.Error as error:
            head.error = self._explain(error)
            raise head.error from error
        self._committed(began, 1 + len(record) // PAGE)
        return True

    def _begin(self, *, patient: bool) -> None:
        """Open a transaction; raises JournalLocked if another process holds the lock."""
        self._demand_open()
        self._demand_file()
        self._follower.end_reading()
        try:
            if patient:
                self._database.patiently(self._openings.announce)
                self._database.begin(self._db)
            else:
                self._openings.announce()
                self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _demand_file(self) -> None:
        """Raise if the file was deleted or replaced, so that nobody would find what is written."""
        if not self._database.is_in_place():
            self._stopped = JournalUnwritable(
                f"the journal {self._database.path} was deleted or replaced while it was in use; "
                "what comes after is not written; put the file back and resume the sessions"
            )
            self._demand_open()

    def _commit(self, batch: list[Write], *, patient: bool = True) -> None:
        """Write the batch; each write is durable or has its error.

        Raises JournalLocked if another process holds the lock; if `patient`, for too long.
        """
        try:
            self._begin(patient=patient)
        except JournalLocked:
            raise
        except RondelError as error:
            self._refuse(batch, error)
        else:
            self._finish(batch)

    def _try_commit(self, batch: list[Write]) -> bool:
        """Write the batch without waiting; False if another process is writing."""
        try:
            self._commit(batch, patient=False)
        except JournalLocked:
            return False
        return True

    def _finish(self, batch: list[Write]) -> None:
        try:
            heads, pages = write_batch(self._db, batch)
            if ARMED:
                crash_point("before_commit")
            began = time.perf_counter()
            self._db.execute("COMMIT")
            self._committed(began, pages)
        except Exception as error:  # any error must reach the waiting callers
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
        if self._log.grows(pages):
            self._wake_thread()

    @staticmethod
    def _refuse(batch: list[Write], error: RondelError) -> None:
        """Refuse the whole batch; its sessions take no writes until they are acquired again."""
        for write in batch:
            write.error = write.error or error
            write.head.error = write.head.error or error

    def _explain(self, error: Exception) -> JournalError:
        """The error in plain words; unless it may pass, the writer refuses all further writes."""
        if isinstance(error, sqlite3.Error):
            explained = self._database.explain(error)
            if is_busy(error):
                return explained
            if isinstance(explained, JournalFull):
                self._full = time.monotonic(), explained
                return explained
        else:
            explained = JournalError(f"the journal {self._database.path} failed: {error!r}")
        self._stopped = explained
        return explained

    # Those who wait

    @staticmethod
    def _wake(batch: list[Write], here: asyncio.AbstractEventLoop | None = None) -> None:
        """Wake the waiting callers, with one call for each loop; `here` is the running one."""
        if ARMED:
            crash_point("before_wake")
        wake(batch, here)
