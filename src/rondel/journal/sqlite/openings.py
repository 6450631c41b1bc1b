"""The processes that have a file open for writing, so that a missing write-ahead log is noticed.

The first thing that a process writes is its own name, which is moved into the file at once. It
removes the name when it closes the file. A file that names a process and has no log beside it was
copied, moved or restored without its log.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from rondel.journal.process import is_alive, this_process
from rondel.journal.sqlite.database import SYNCHRONOUS, Database, rollback

SHORT = 500_000
"""A log of at most this many bytes is moved quickly."""


class Openings:
    """The names in one file; the caller holds the writer's lock."""

    def __init__(self, database: Database, db: sqlite3.Connection) -> None:
        self._database = database
        self._db = db
        self._announced = False
        if database.had_log and self._gone():
            self._clear([])

    def announce(self) -> None:
        """Write the name of this process, once; raises SQLite's error if the file is locked."""
        if self._announced:
            return
        was_empty = self._log_is_moved()
        name = this_process()
        self._db.execute("INSERT OR IGNORE INTO opening VALUES (?)", (name,))
        self._announced = True
        if was_empty:
            # Only the name is in the log: should the machine fail now, nothing else is lost.
            self._db.execute("PRAGMA synchronous = OFF")
            try:
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                level = SYNCHRONOUS[self._database.durability]
                self._db.execute(f"PRAGMA synchronous = {level}")

    def close(self) -> None:
        """Remove the name, and those of processes that are gone."""
        if self._announced:
            self._clear([this_process()])

    def _log_is_moved(self) -> bool:
        """Whether the whole log is in the file."""
        if self._database.log_size() > SHORT:
            return False  # another process is named in the file: it keeps the log
        _, pages, moved = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return bool(pages == moved)

    def _gone(self) -> list[str]:
        names = [name for (name,) in self._db.execute("SELECT process FROM opening")]
        return [name for name in names if not is_alive(name)]

    def _clear(self, names: list[str]) -> None:
        with suppress(sqlite3.Error):  # the next process that opens the file does so
            try:
                self._database.begin(self._db)
                doomed = [(name,) for name in (*names, *self._gone())]
                self._db.executemany("DELETE FROM opening WHERE process = ?", doomed)
                self._db.execute("COMMIT")
            finally:
                rollback(self._db)
