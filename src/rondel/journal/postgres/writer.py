"""The one hand that writes to a PostgreSQL journal: whatever is queued shares a round trip.

No event loop waits for the database: changes are queued, and a thread writes them. While one
batch is on its way the next gathers, so the more sessions write, the fewer commits each takes.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable

import psycopg
from psycopg import errors

from rondel.errors import JournalClosed, JournalError, RondelError
from rondel.journal.crash import ARMED, crash_point
from rondel.journal.postgres.batch import write
from rondel.journal.postgres.change import Change, PostgresHead
from rondel.journal.postgres.database import Connection, PostgresDatabase, is_away
from rondel.journal.rules import wake
from rondel.journal.store import Durable

MOST = 1000
"""Changes in a batch; many more would keep the first of them waiting."""

LEAVE = 5.0
"""Seconds for which closing waits for a database that is away."""

_NAP = 0.05
_TRIES = 5
_COLLISIONS = (
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.IntegrityError,  # a graph went while a session of it was made
)


class PostgresWriter:
    """Takes changes from any thread and any event loop, and keeps their order."""

    def __init__(self, database: PostgresDatabase, wrote: Callable[[], None]) -> None:
        self._database = database
        self._wrote = wrote
        """Told after every batch."""
        self._db: Connection | None = None
        self._graphs: set[bytes] = set()
        self._queue: deque[Change] = deque()
        self._bell = threading.Event()
        self._done = threading.Condition()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._last_moment = math.inf

    def submit(self, change: Change) -> Durable:
        """Write it in its turn; without an event loop it is durable on return."""
        self._demand_open()
        loop = asyncio._get_running_loop()
        if loop is None:
            self.write_now(change)
            return None
        change.future = loop.create_future()
        change.head.last = change
        self._queue.append(change)
        self._ring()
        return change.future

    def write_now(self, change: Change) -> None:
        """Write it and wait for that."""
        self._demand_open()
        change.head.last = change
        self._queue.append(change)
        self._ring()
        self._wait_for(change)
        if change.error is not None:
            raise change.error

    def finish(self, head: PostgresHead | None) -> None:
        """Wait until all is written that was asked for in this session."""
        if head is not None and head.last is not None:
            self._wait_for(head.last)
            head.last = None

    def close(self) -> None:
        """Write what is queued and let go of the database."""
        self._last_moment = time.monotonic() + LEAVE
        self._closed = True
        if self._thread is not None:
            self._bell.set()
            self._thread.join()
            self._thread = None

    def _demand_open(self) -> None:
        if self._closed:
            raise JournalClosed(f"the journal {self._database.name} is closed")

    def _ring(self) -> None:
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    name = f"rondel-journal-{id(self):x}"
                    self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                    self._thread.start()
        if not self._bell.is_set():
            self._bell.set()

    def _wait_for(self, change: Change) -> None:
        with self._done:
            self._done.wait_for(lambda: change.is_over)

    # In the thread

    def _work(self) -> None:
        while True:
            self._bell.wait()
            self._bell.clear()
            while batch := self._take():
                self._commit(batch)
                self._wake(batch)
                self._wrote()
            if self._closed and not self._queue:
                break
        if self._db is not None:
            self._db.close()

    def _take(self) -> list[Change]:
        take = self._queue.popleft
        return [take() for _ in range(min(len(self._queue), MOST))]

    def _commit(self, batch: list[Change]) -> None:
        """Write the batch, waiting for a database that is away."""
        deadline = time.monotonic() + self._database.patience
        tries, again = 0, False
        while True:
            try:
                self._write(batch, again)
            except psycopg.Error as error:
                tries += 1
                again = self._let_go(error) or again
                late = time.monotonic() >= min(deadline, self._last_moment)
                if late or not _may_pass(error, tries):
                    self._refuse(batch, self._database.explain(error))
                    return
                self._graphs.clear()
                time.sleep(_NAP)
            except Exception as error:  # whatever it is, those who wait must hear of it
                self._refuse(batch, JournalError(f"the journal failed: {error!r}"))
                return
            else:
                return

    def _let_go(self, error: psycopg.Error) -> bool:
        """Close a connection that broke; whether one did, so that nobody knows what it wrote."""
        db = self._db
        if db is None or not (is_away(error) or db.broken):
            return False
        db.close()
        self._db = None
        return True

    def _write(self, batch: list[Change], again: bool) -> None:
        if self._db is None:
            self._db = self._database.connect()
        if ARMED:
            crash_point("before_commit")
        write(self._db, batch, self._graphs, again)
        if ARMED:
            crash_point("after_commit")

    def _refuse(self, batch: list[Change], error: RondelError) -> None:
        """Nothing of the batch was written, so its sessions are not what their drivers think."""
        for change in batch:
            change.error = change.error or error
            change.head.error = change.head.error or error
        # A lease that is not given back would be prolonged for as long as this process lives.
        kept = [Change(change.head, release=change.release) for change in batch if change.release]
        if not self._closed:
            self._queue.extend(kept)

    def _wake(self, batch: list[Change]) -> None:
        """Tell everybody who waits, with one call for each loop."""
        if ARMED:
            crash_point("before_wake")
        with self._done:
            for change in batch:
                change.is_over = True
            self._done.notify_all()
        wake(batch)


def _may_pass(error: psycopg.Error, tries: int) -> bool:
    """Whether trying again may help."""
    return is_away(error) or (isinstance(error, _COLLISIONS) and tries < _TRIES)
