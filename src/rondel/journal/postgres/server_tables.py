"""The database of servers whose sessions are in PostgreSQL: in their database, shared by all."""

from __future__ import annotations

from functools import cache
from time import monotonic

from rondel.journal.postgres.connections import ConnectionPool
from rondel.journal.postgres.database import Connection, PostgresDatabase, stored, told
from rondel.journal.server_tables import Row, Statement

FRESH = 1.0
"""Seconds for which what was read is taken to be so still."""


class PostgresServerTables:
    """The tables of the schema that sessions are in; every call is a journey to the database."""

    tells = True

    def __init__(self, url: str) -> None:
        database = PostgresDatabase(url, "normal")
        self._connections = ConnectionPool(database, database.open())
        self._epoch = self._connections.call(_clock) - monotonic()

    def rows(self, query: str, *values: object) -> list[Row]:
        """What a query finds."""

        def read(db: Connection) -> list[Row]:
            return [_told(row) for row in db.execute(_marked(query), _stored(values)).fetchall()]

        return self._connections.call(read)

    def write(self, *statements: Statement) -> list[int]:
        """Carry out all statements or none; how many rows each has changed."""

        def change(db: Connection) -> list[int]:
            with db.transaction():
                return [
                    db.execute(_marked(text), _stored(values)).rowcount
                    for text, *values in statements
                ]

        return self._connections.call(change)

    def version(self) -> int:
        """Another number every second: nobody tells when another process has written."""
        return int(monotonic() / FRESH)

    def now(self) -> float:
        """The time of the database, which all servers share."""
        return self._epoch + monotonic()

    def close(self) -> None:
        """Let go of the database."""
        self._connections.close()


@cache
def _marked(text: str) -> bytes:
    """The statement as the driver takes it."""
    return text.replace("?", "%s").encode()


def _stored(values: tuple[object, ...] | list[object]) -> list[object]:
    return [stored(value) if isinstance(value, str) else value for value in values]


def _told(row: Row) -> Row:
    return tuple(told(value) if isinstance(value, str) else value for value in row)


def _clock(db: Connection) -> float:
    (now,) = db.execute("SELECT rondel.now()").fetchone() or (0.0,)
    return float(now)
