"""The fast path for a session that writes alone: its tick is added after the file's last one.

That takes one statement, which is its own transaction, and one page. While ticks come quickly, an
unfinished SELECT keeps a read transaction open from one commit to the next, which saves half of a
commit's system calls. What this connection writes is added to what it sees; if another one writes
meanwhile, SQLite refuses the next insert.

An open read transaction keeps the write-ahead log from being emptied, so a timer ends it soon.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading

from rondel.journal.sqlite.batch import SqliteHead
from rondel.journal.sqlite.checksums import chained
from rondel.journal.sqlite.database import is_busy

BRISK = 0.002
"""If two ticks come within this many seconds, a third is expected."""

HELD = 0.05
"""The most seconds for which the read transaction stays open."""

# `session` is NOT NULL: the insert fails if the head or the last tick changed.
# `INSERT ... SELECT` would copy what it selects into a table of its own first.
_FOLLOW = """
INSERT INTO tick (seq, session, n, prev, record, sum) VALUES (
    ?,
    (
        SELECT session FROM head
        WHERE session = ? AND owner IS ? AND (SELECT max(seq) FROM tick) = ?
    ),
    ?, ?, ?, ?
)
"""


class Follower:
    """Writes ticks on the fast path; the caller holds the writer's lock."""

    def __init__(self, db: sqlite3.Connection, lock: threading.Lock) -> None:
        self._inserting = db.cursor()
        self._reading = db.cursor()
        self._lock = lock
        self._is_reading = False
        self._before = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop whose timer will end the read transaction."""

    def write(self, head: SqliteHead, record: bytes, now: float) -> bool:
        """Make the tick durable; False if the fast path does not apply or the file is locked.

        Raises SQLite's error if the file itself fails.
        """
        last = head.last
        if last is None:
            return False
        try:
            if not self._is_reading and now - self._before < BRISK:
                self._begin_reading()
            where = (last + 1, head.key, head.owner, last)
            checksum = chained(head.sum, record)
            self._inserting.execute(
                _FOLLOW, (*where, head.length, last, bytearray(record), checksum)
            )
        except sqlite3.IntegrityError:
            self._before = 0.0
            return False
        except sqlite3.Error as error:
            self._before = 0.0
            if is_busy(error):
                return False
            raise
        head.place(head.length + 1, last + 1, checksum)
        self._before = now
        return True

    def end_reading(self) -> None:
        """End the read transaction; call this before any other use of the connection."""
        if self._is_reading:
            self._is_reading = False
            self._reading.close()

    def close(self) -> None:
        """Close its statement, which would keep the connection open."""
        self.end_reading()
        self._inserting.close()

    def _begin_reading(self) -> None:
        loop = asyncio._get_running_loop()
        if loop is None:
            return
        self._reading = self._reading.connection.cursor()
        self._reading.execute("SELECT 1 FROM head")
        self._is_reading = True
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(HELD, self._time_is_up, loop)

    def _time_is_up(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._lock.acquire(blocking=False):
            loop.call_later(HELD, self._time_is_up, loop)
            return
        try:
            self._loop = None
            self.end_reading()
        finally:
            self._lock.release()
