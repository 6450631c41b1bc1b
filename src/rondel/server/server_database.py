"""What a server keeps besides sessions: tokens, logins, secrets, webhooks and their deliveries.

One small SQLite file beside the sessions', readable by its owner only. Tokens and logins are kept
as hashes: who reads the file cannot call the server with what is in it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rondel.errors import CallError
from rondel.sessions.stores import default_path

SCHEMA = """
CREATE TABLE IF NOT EXISTS token (
    name TEXT PRIMARY KEY, hash TEXT UNIQUE NOT NULL, role TEXT NOT NULL, groups TEXT,
    created_at REAL NOT NULL, revoked_at REAL
);
CREATE TABLE IF NOT EXISTS login (
    hash TEXT PRIMARY KEY, token TEXT NOT NULL REFERENCES token (name), until REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS secret (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS webhook (
    id TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL, events TEXT NOT NULL,
    groups TEXT, created_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS delivery (
    id TEXT PRIMARY KEY, webhook TEXT NOT NULL, body BLOB NOT NULL, created_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, due REAL, status TEXT NOT NULL, note TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS delivery_due ON delivery (due) WHERE due IS NOT NULL;
CREATE TABLE IF NOT EXISTS insight (
    session TEXT PRIMARY KEY, graph TEXT NOT NULL, grp TEXT, length INTEGER NOT NULL,
    created_at REAL NOT NULL, facts BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS insight_graph ON insight (graph);
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY, digest TEXT NOT NULL, created_at REAL NOT NULL,
    status INTEGER, headers TEXT, body BLOB
);
"""


def place_of(db: str | os.PathLike[str] | None) -> Path:
    """Where the database of the server of a database is."""
    named = os.environ.get("RONDEL_SERVER_DB")
    if named:
        return Path(named)
    if db is None or "://" in str(db):
        return default_path().with_name("server.db")
    path = Path(db)
    return path.with_name(f"{path.stem}.server.db")


class ServerDatabase:
    """The file, or memory where there is none."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(
                ":memory:" if path is None else path, check_same_thread=False, timeout=10.0
            )
            if path is not None:
                self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise CallError(f"{path} cannot be opened: {error}") from error

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Change something: all of it or nothing."""
        with self._lock, self._db:
            yield self._db

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """What a query finds."""
        with self._lock:
            return self._db.execute(query, values).fetchall()

    @property
    def version(self) -> int:
        """Changes when another process has written."""
        with self._lock:
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()
