"""Connections for reads and small writes: as many as there are callers at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

from rondel.errors import JournalClosed
from rondel.journal.postgres.database import Connection, PostgresDatabase, is_away
from rondel.journal.store import Durable

T = TypeVar("T")

PATIENCE = 15.0
"""Seconds for which a caller waits for a database that is away."""

ON_LOOP = 1.0
"""The same for a caller on an event loop, which stands still meanwhile."""

IDLE = 4
"""How many connections are kept for the next callers."""

_NAP = 0.05


class ConnectionPool:
    """Lends out connections on the caller's thread; reading never waits for writing."""

    def __init__(self, database: PostgresDatabase, first: Connection) -> None:
        self._database = database
        self._idle = [first]
        self._closed = False
        self._is_away = False
        self._waiting: asyncio.Future[None] | None = None

    def ready(self) -> Durable:
        """None as far as is known; while the database is away, an awaitable until it is back."""
        loop = asyncio._get_running_loop()
        if loop is None or not self._is_away:
            return None
        if self._waiting is None or self._waiting.done() or self._waiting.get_loop() is not loop:
            self._waiting = loop.run_in_executor(None, self._wait)
        return asyncio.shield(self._waiting)

    def call(self, job: Callable[[Connection], T]) -> T:
        """Do the job; if the database goes away meanwhile, do it again on another connection."""
        deadline = time.monotonic() + self._patience()
        while True:
            try:
                return self._call(job)
            except psycopg.Error as error:
                if not is_away(error) or time.monotonic() >= deadline:
                    raise self._database.explain(error) from error
                if not self._idle:
                    self._is_away = True
                    time.sleep(_NAP)

    def once(self, job: Callable[[Connection], T]) -> T:
        """The same for what must not be done twice: the connection is tried beforehand."""
        sure = False

        def checked(db: Connection) -> T:
            nonlocal sure
            db.execute("SELECT 1")
            sure = True
            return job(db)

        while True:
            try:
                return self._call(checked)
            except psycopg.Error as error:
                if sure or not is_away(error) or not self._idle:
                    raise self._database.explain(error) from error

    def close(self) -> None:
        """Let go of the database; connections lent out are closed when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _patience(self) -> float:
        """How long the caller waits: an event loop hardly does, it has `ready` for that."""
        if asyncio._get_running_loop() is None:
            return min(PATIENCE, self._database.patience)
        return 0.0 if self._is_away else ON_LOOP

    def _wait(self) -> None:
        db = self._database.patiently(self._database.connect)
        self._is_away = False
        self._idle.append(db)

    def _call(self, job: Callable[[Connection], T]) -> T:
        if self._closed:
            raise JournalClosed(f"the journal {self._database.name} is closed")
        try:
            db = self._idle.pop()
        except IndexError:
            db = self._database.connect()
            self._is_away = False
        try:
            return job(db)
        finally:
            if self._closed or db.closed or db.broken or len(self._idle) >= IDLE:
                db.close()
            else:
                self._idle.append(db)
