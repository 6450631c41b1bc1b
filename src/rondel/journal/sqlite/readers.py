"""Connections for reading: as many as there are readers at once; they are reused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from rondel.errors import JournalClosed
from rondel.journal.sqlite.database import UNREADABLE, Database, rollback


class Readers:
    """Lends out connections on the caller's thread; reading never waits for writing."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the file."""
        if self._closed:
            raise JournalClosed(f"the journal {self._database.path} is closed")
        try:
            db = self._idle.pop() if self._idle else self._database.reader()
            try:
                db.execute("BEGIN")
                yield db
            finally:
                self._give_back(db)
        except UNREADABLE as error:
            raise self._database.explain(error) from error

    def close(self) -> None:
        """Close the connections; those lent out are closed when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _give_back(self, db: sqlite3.Connection) -> None:
        rollback(db)
        if self._closed:
            db.close()
        else:
            self._idle.append(db)
