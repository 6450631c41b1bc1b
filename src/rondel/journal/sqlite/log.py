"""The write-ahead log beside the file: how long it may grow, and how it is emptied."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from rondel.journal.sqlite.database import PAGE, Database

CHECKPOINT = 8000
"""Pages in the write-ahead log, roughly, after which they are moved into the file."""

CHECKPOINT_OF_FULL = 500
"""The same where every commit waits for the disk, which takes twice as long while the log grows:
emptied early, it is written over again at the length that it has."""

LONG_LOG = 4
"""How many times that much the log may have before everybody is made to let go of it: while
several processes write in turn, somebody always reads it, and it is never begun anew."""

LET_GO = 500
"""Milliseconds for which others may be kept from writing until all have let go."""

WASTE = 20
"""One page in so many may be empty before it is worth while to pack the file."""


class Log:
    """Counts what is added to the log, and moves it into the file; the caller has the lock."""

    def __init__(self, database: Database, db: sqlite3.Connection) -> None:
        self._database = database
        self._db = db
        self._pages = 0
        """What the log has grown by, at least."""
        full = database.durability == "full"
        self._limit = min(CHECKPOINT, CHECKPOINT_OF_FULL) if full else CHECKPOINT

    def grows(self, pages: int) -> bool:
        """It has so many pages more; True if it is time to move them into the file."""
        self._pages += pages
        return self._pages >= self._limit

    @property
    def is_due(self) -> bool:
        """Whether it is time to move the log into the file."""
        return self._pages >= self._limit

    def checkpoint(self) -> None:
        """Move the log into the file, and begin it anew when it has become long."""
        self._pages = 0
        with suppress(sqlite3.Error):  # the log holds it all; next time, then
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            if self._database.log_size() > LONG_LOG * self._limit * PAGE:
                self._empty()

    def pack(self) -> bool:
        """Give the space of what was deleted back; False if somebody keeps it for now."""
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        if free * WASTE >= pages:
            self._db.execute("VACUUM")
        return self._empty()

    def _empty(self) -> bool:
        """Make all who read or write wait until the log is empty; False if some did not let go."""
        self._db.execute(f"PRAGMA busy_timeout = {LET_GO}")
        try:
            (held, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self._db.execute("PRAGMA busy_timeout = 0")
        return not held
