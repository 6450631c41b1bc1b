"""Opens the store that a `db` names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from rondel.errors import CallError
from rondel.journal.memory import MemoryStore
from rondel.journal.store import Store

Durability = Literal["full", "normal", "off"]


class _Default:
    def __repr__(self) -> str:
        return "the default file"


DEFAULT: Final = _Default()
"""The user's own database: `RONDEL_DB`, or rondel.db in the user's data folder."""

POSTGRES = ("postgresql://", "postgres://")
"""The beginnings of the address of a PostgreSQL database."""

Database = str | os.PathLike[str] | Store | _Default | None


def default_path() -> Path:
    """The default file for sessions."""
    named = os.environ.get("RONDEL_DB")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "rondel" / "rondel.db"


def default_database() -> str:
    """The default address or file for sessions."""
    named = os.environ.get("RONDEL_DB", "")
    return named if is_address(named) else str(default_path())


def is_address(db: str) -> bool:
    """Whether it names a server and not a file."""
    return db.startswith(POSTGRES)


def open_store(db: Database, durability: Durability) -> Store:
    """The store in memory (None), in a SQLite file, in PostgreSQL, or one that is open already."""
    if db is None:
        return MemoryStore()
    if not isinstance(db, str | os.PathLike | _Default):
        return db
    if isinstance(db, _Default):
        db = default_database()
    if isinstance(db, str) and "://" in db:
        if is_address(db):
            return _open_postgres(db, durability)
        scheme, _, path = db.partition("://")
        if scheme != "sqlite":
            raise CallError(
                f"there is no store for {scheme!r} addresses; use a file, postgresql://... or None"
            )
        db = path
    from rondel.journal.sqlite.store import SqliteStore

    return SqliteStore(Path(db), durability)


def _open_postgres(url: str, durability: Durability) -> Store:
    with without_driver():
        from rondel.journal.postgres.store import PostgresStore
    return PostgresStore(url, durability)


@contextmanager
def without_driver() -> Iterator[None]:
    """Say what to install where the driver of PostgreSQL is missing."""
    try:
        yield
    except ImportError as missing:
        raise CallError(
            f"sessions in PostgreSQL need the driver, which is missing ({missing}); "
            "pip install 'rondel[postgres]'"
        ) from missing
