"""The database of a server whose sessions are in a file: a small file beside that one.

Only its owner can read it. Tokens and logins are in it as hashes: who reads the file cannot call
the server with what is in it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path

from rondel.errors import CallError, JournalError
from rondel.journal.server_tables import Row, Statement

SCHEMAS = (
    """
CREATE TABLE IF NOT EXISTS rondel.token (
    name TEXT PRIMARY KEY, hash TEXT UNIQUE NOT NULL, role TEXT NOT NULL, groups TEXT,
    created_at REAL NOT NULL, revoked_at REAL
);
CREATE TABLE IF NOT EXISTS rondel.login (
    hash TEXT PRIMARY KEY, token TEXT NOT NULL REFERENCES token (name), until REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS rondel.secret (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rondel.webhook (
    id TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL, events TEXT NOT NULL,
    groups TEXT, created_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS rondel.delivery (
    id TEXT PRIMARY KEY, webhook TEXT NOT NULL, body BLOB NOT NULL, created_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, due REAL, status TEXT NOT NULL, note TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS rondel.delivery_due ON delivery (due) WHERE due IS NOT NULL;
CREATE TABLE IF NOT EXISTS rondel.insight (
    session TEXT PRIMARY KEY, graph TEXT NOT NULL, grp TEXT, length INTEGER NOT NULL,
    created_at REAL NOT NULL, facts BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS rondel.insight_graph ON insight (graph);
CREATE TABLE IF NOT EXISTS rondel.reply (
    key TEXT PRIMARY KEY, digest TEXT NOT NULL, created_at REAL NOT NULL,
    status INTEGER, headers TEXT, body BLOB
);
""",
    # Secrets are of a group; '' is everybody's, as all were before.
    """
CREATE TABLE rondel.secret_of_group (
    grp TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (grp, name)
);
INSERT INTO rondel.secret_of_group SELECT '', name, value FROM rondel.secret;
DROP TABLE rondel.secret;
ALTER TABLE rondel.secret_of_group RENAME TO secret;
CREATE INDEX rondel.delivery_of_webhook ON delivery (webhook, created_at);
""",
)
"""What brings a file from each version to the next."""


class SqliteServerTables:
    """The file, or memory where there is none."""

    tells = False

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(
                ":memory:", check_same_thread=False, timeout=10.0, isolation_level=None
            )
            self._db.execute("ATTACH ? AS rondel", (":memory:" if path is None else str(path),))
            if path is not None:
                self._db.execute("PRAGMA rondel.journal_mode = WAL")
            self._db.execute("PRAGMA rondel.synchronous = NORMAL")
            self._migrate()
        except (OSError, sqlite3.Error) as error:
            raise CallError(f"{path} cannot be opened: {error}") from error

    def rows(self, query: str, *values: object) -> list[Row]:
        """What a query finds."""
        with self._lock:
            try:
                return self._db.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise self._explain(error) from error

    def write(self, *statements: Statement) -> list[int]:
        """Carry out all statements or none; how many rows each has changed."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                done = [self._db.execute(text, values).rowcount for text, *values in statements]
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                self._roll_back()
                raise self._explain(error) from error
            return done

    def version(self) -> int:
        """Another number once another process has written."""
        with self._lock:
            return int(self._db.execute("PRAGMA rondel.data_version").fetchone()[0])

    def now(self) -> float:
        """The time of this machine."""
        return time.time()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    def _migrate(self) -> None:
        if self._schema() == len(SCHEMAS):
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for number in range(self._schema(), len(SCHEMAS)):
                for statement in SCHEMAS[number].split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA rondel.user_version = {number + 1}")
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _schema(self) -> int:
        return int(self._db.execute("PRAGMA rondel.user_version").fetchone()[0])

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _explain(self, error: sqlite3.Error) -> JournalError:
        return JournalError(f"what the server keeps in {self.path} cannot be used: {error}")
