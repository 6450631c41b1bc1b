"""What a server keeps besides sessions: tokens, logins, secrets, webhooks and their deliveries.

Beside a file of sessions it is a file of its own; in PostgreSQL it is where the sessions are, so
all servers of a database share it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from rondel.journal.server_tables import Row, ServerTables, Statement
from rondel.journal.sqlite.server_tables import SqliteServerTables
from rondel.sessions.stores import default_path, is_address, without_driver

VARIABLE = "RONDEL_SERVER_DB"
"""Names another place than the one beside the sessions, or in their database."""


def place_of(db: str | os.PathLike[str] | None) -> str:
    """The place of the server's own database for a database of sessions: a file or an address."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    if db is None:
        return str(default_path().with_name("server.db"))
    if is_address(str(db)):
        return str(db)
    path = Path(str(db).removeprefix("sqlite://"))
    return str(path.with_name(f"{path.stem}.server.db"))


class ServerDatabase:
    """The database as it is asked from an event loop, which never waits for it."""

    def __init__(self, store: ServerTables) -> None:
        self.store = store
        self.tells = store.tells
        self.version = store.version
        self.now = store.now

    async def rows(self, query: str, *values: object) -> list[Row]:
        """What a query finds."""
        return await asyncio.to_thread(self.store.rows, query, *values)

    async def write(self, *statements: Statement) -> list[int]:
        """Carry out all statements or none; how many rows each has changed."""
        return await asyncio.to_thread(self.store.write, *statements)

    def close(self) -> None:
        """Close the database."""
        self.store.close()


def open_server_database(place: str | os.PathLike[str] | None) -> ServerDatabase:
    """The database at a place, or in memory."""
    if place is None or not is_address(str(place)):
        return ServerDatabase(SqliteServerTables(None if place is None else Path(place)))
    with without_driver():
        from rondel.journal.postgres.server_tables import PostgresServerTables
    return ServerDatabase(PostgresServerTables(str(place)))
