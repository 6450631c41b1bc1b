"""The write-ahead log beside the file: how large it may grow, and how it is emptied."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from rondel.journal.sqlite.database import PAGE, Database

CHECKPOINT = 8000
"""After about this many pages the log is moved into the file."""

CHECKPOINT_OF_FULL = 500
"""The limit where each commit waits for the disk. Commits take twice as long while the log grows,
so it is emptied early and then overwritten at its present size."""

LONG_LOG = 4
"""At this many times that size all processes are made to wait until the log is empty: while several
write in turn, one always reads it, and it would never start again from the beginning."""

LET_GO = 500
"""The most milliseconds for which other processes are kept waiting then."""

WASTE = 20
"""The file is packed if more than one page in this many is empty."""


class Log:
    """Counts what is added to the log and moves it into the file; the caller holds the lock."""

    def __init__(self, database: Database, db: sqlite3.Connection) -> None:
        self._database = database
        self._db = db
        self._pages = 0
        """The least number of pages that were added to the log."""
        full = database.durability == "full"
        self._limit = min(CHECKPOINT, CHECKPOINT_OF_FULL) if full else CHECKPOINT

    def grows(self, pages: int) -> bool:
        """Count more pages; True if it is time to move them into the file."""
        self._pages += pages
        return self._pages >= self._limit

    @property
    def is_due(self) -> bool:
        """Whether it is time to move the log into the file."""
        return self._pages >= self._limit

    def checkpoint(self) -> None:
        """Move the log into the file, and empty it if it has become large."""
        self._pages = 0
        with suppress(sqlite3.Error):  # the log still has everything; the next checkpoint moves it
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            if self._database.log_size() > LONG_LOG * self._limit * PAGE:
                self._empty()

    def pack(self) -> bool:
        """Give the space of deleted sessions back; False if another process is in the way."""
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        if free * WASTE >= pages:
            self._db.execute("VACUUM")
        return self._empty()

    def _empty(self) -> bool:
        """Make all readers and writers wait until the log is empty; False if one took too long."""
        self._db.execute(f"PRAGMA busy_timeout = {LET_GO}")
        try:
            (blocked, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self._db.execute("PRAGMA busy_timeout = 0")
        return not blocked
