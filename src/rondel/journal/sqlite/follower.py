"""Writes the ticks of a lone session: each right behind the file's last one, which is its own.

That is one statement, a transaction by itself, and one page. While ticks follow each other
briskly, an unfinished SELECT keeps the connection reading from one commit to the next: half of a
commit's system calls are there to begin reading and to end it. What this connection writes is
added to what it sees; if another one writes meanwhile, SQLite refuses the next insert.

Nobody can empty the write-ahead log beyond what somebody reads, so a timer ends the reading soon.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading

from rondel.journal.sqlite.checksums import chained
from rondel.journal.sqlite.database import is_busy
from rondel.journal.sqlite.write import Head

BRISK = 0.002
"""Seconds between two ticks within which a third is expected soon."""

HELD = 0.05
"""Seconds for which reading goes on at most, while the event loop turns."""

# No session is NULL: the insert fails where the head or the last tick are not as they were left.
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
    """The quick way into the file; whoever calls holds the writer's lock."""

    def __init__(self, db: sqlite3.Connection, lock: threading.Lock) -> None:
        self._inserting = db.cursor()
        self._reading = db.cursor()
        self._lock = lock
        self._holds = False
        self._before = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop whose timer will end the reading."""

    def write(self, head: Head, record: bytes, now: float) -> bool:
        """Make the tick durable; False if it does not follow plainly, or somebody is in the way.

        Raises what SQLite raises when the file itself fails.
        """
        last = head.last
        if last is None:
            return False
        try:
            if not self._holds and now - self._before < BRISK:
                self._hold()
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

    def let_go(self) -> None:
        """End the reading: before anything else is done with the connection."""
        if self._holds:
            self._holds = False
            self._reading.close()

    def close(self) -> None:
        """Let go of the connection, which else stays open behind its back."""
        self.let_go()
        self._inserting.close()

    def _hold(self) -> None:
        loop = asyncio._get_running_loop()
        if loop is None:
            return
        self._reading = self._reading.connection.cursor()
        self._reading.execute("SELECT 1 FROM head")
        self._holds = True
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(HELD, self._time_is_up, loop)

    def _time_is_up(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._lock.acquire(blocking=False):
            loop.call_later(HELD, self._time_is_up, loop)
            return
        try:
            self._loop = None
            self.let_go()
        finally:
            self._lock.release()
