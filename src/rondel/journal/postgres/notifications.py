"""What a store tells other processes and hears from them, on a connection of its own.

After writes it notifies them, a few times a second at most: a NOTIFY in every transaction would
make all of them wait for one lock. It hears theirs, and it keeps the leases of those who drive
sessions here: one row for each, prolonged from a thread, so that a node which holds the event loop
for a while loses nothing.
"""

from __future__ import annotations

import logging
import os
import secrets
import select
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

import psycopg

from rondel.journal.clock import elapsed
from rondel.journal.postgres.database import Connection, PostgresDatabase, stored

CHANNEL = "rondel"

PAUSE = 0.02
"""Seconds between two notifications at least."""

TRUST = 6
"""For so many times the length of its leases a driver is taken to be alive that says nothing."""

_BEATS = 3
"""How often a lease is prolonged in its time."""

_NAP = 0.2
_LONG = 5.0
_LOOK = 0.2

_BEAT = """
INSERT INTO rondel.driver (owner, until) VALUES (%(owner)s, rondel.now() + %(ttl)s)
ON CONFLICT (owner) DO UPDATE SET until = excluded.until
"""
_WRITTEN = "SELECT pg_current_wal_insert_lsn()::text"
_FORGET_OLD = "DELETE FROM rondel.driver WHERE until < rondel.now() - 86400"

log = logging.getLogger("rondel.journal")


@dataclass(slots=True)
class _Driver:
    ttl: float
    heard: float
    until: float = 0.0
    """Until when its row stands, by `elapsed`."""


class NotificationThread:
    """A thread that listens, notifies and prolongs leases; it starts when first needed."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._name = secrets.token_hex(4)
        self._changes = 0
        self._drivers: dict[str, _Driver] = {}
        self._next_beat = 0.0
        self._is_due = False
        """Whether there is something to tell."""
        self._told = 0.0
        self._written: str | None = None
        """How far the server has written, where it cannot be listened to."""
        self._closed = False
        self._away_since: float | None = None
        self._listening = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ear, self._mouth = os.pipe()
        os.set_blocking(self._mouth, False)

    def touch(self) -> None:
        """Something was written that others may want to know of."""
        if not self._is_due:
            self._is_due = True
            self._wake()

    def changes(self) -> int:
        """A number that changes when another store has written."""
        self._start()
        self._listening.wait()
        return self._changes

    def keep(self, owner: str, ttl: float) -> float:
        """That driver is alive: prolong its leases. Until when they were prolonged last."""
        driver = self._drivers.get(owner)
        if driver is None:
            driver = self._drivers[owner] = _Driver(ttl, time.monotonic())
            self._next_beat = 0.0
            self._wake()
        driver.ttl, driver.heard = ttl, time.monotonic()
        return driver.until

    def close(self) -> None:
        """Let go of the leases and the connection."""
        self._closed = True
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._nudge()
            thread.join()
        if self._mouth >= 0:
            os.close(self._ear)
            os.close(self._mouth)
            self._ear = self._mouth = -1

    def _wake(self) -> None:
        self._start()
        self._nudge()

    def _nudge(self) -> None:
        with suppress(BlockingIOError):  # it has been woken often enough
            os.write(self._mouth, b".")

    def _start(self) -> None:
        if self._thread is None and not self._closed:
            with self._starting:
                if self._thread is None and not self._closed:
                    name = f"rondel-notifications-{id(self):x}"
                    self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                    self._thread.start()

    # In the thread

    def _work(self) -> None:
        while not self._closed:
            try:
                with self._connect() as db:
                    if not self._database.is_pooled:
                        db.execute(f"LISTEN {CHANNEL}")
                    self._changes += 1  # nobody knows what was told before
                    self._listening.set()
                    self._live(db)
            except psycopg.Error:
                self._listening.set()
                self._next_beat = 0.0
                self._rest(_NAP)

    def _connect(self) -> Connection:
        """A connection; it is said once that the database is away, and once that it is back."""
        try:
            db = self._database.connect()
        except psycopg.Error as error:
            if self._away_since is None and not self._closed:
                self._away_since = time.monotonic()
                log.warning("%s; it is waited for", self._database.explain(error))
            raise
        if self._away_since is not None:
            away = time.monotonic() - self._away_since
            log.warning("the journal %s is back after %.0f s", self._database.name, away)
            self._away_since = None
        return db

    def _live(self, db: Connection) -> None:
        while not self._closed:
            self._hear(db)
            self._beat(db)
            self._tell(db)
        if self._is_due:
            self._notify(db)
        for owner in self._drivers:
            db.execute("DELETE FROM rondel.driver WHERE owner = %s", (stored(owner),))

    def _hear(self, db: Connection) -> None:
        is_pooled = self._database.is_pooled
        self._take(db)  # what came while something else was asked
        wait = _LOOK if is_pooled else _LONG
        if self._drivers:
            wait = min(wait, max(self._next_beat - time.monotonic(), 0.0))
        if self._is_due:
            wait = min(wait, max(self._told + PAUSE - time.monotonic(), 0.0))
        self._rest(wait, *(() if is_pooled else (db.fileno(),)))
        self._take(db)

    def _take(self, db: Connection) -> None:
        """Take in what others told; behind a pooler only that somebody has written."""
        if self._database.is_pooled:
            (written,) = db.execute(_WRITTEN).fetchone() or (None,)
            self._changes += written != self._written
            self._written = written
            return
        for heard in db.notifies(timeout=0):
            if heard.payload != self._name:
                self._changes += 1

    def _rest(self, wait: float, *others: int) -> None:
        ready, _, _ = select.select([self._ear, *others], [], [], wait)
        if self._ear in ready:
            os.read(self._ear, 4096)

    def _beat(self, db: Connection) -> None:
        now = time.monotonic()
        if not self._drivers or now < self._next_beat:
            return
        for owner, driver in list(self._drivers.items()):
            if now - driver.heard > TRUST * driver.ttl:
                del self._drivers[owner]
            else:
                asked = elapsed()
                db.execute(_BEAT, {"owner": stored(owner), "ttl": driver.ttl})
                driver.until = asked + driver.ttl
        db.execute(_FORGET_OLD)
        shortest = min((driver.ttl for driver in self._drivers.values()), default=_LONG)
        self._next_beat = now + shortest / _BEATS

    def _tell(self, db: Connection) -> None:
        if self._is_due and time.monotonic() - self._told >= PAUSE:
            self._notify(db)

    def _notify(self, db: Connection) -> None:
        self._is_due = False
        self._told = time.monotonic()
        db.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self._name))
