"""Leases in a SQLite file: what each call does to an open transaction.

A lease ends at a moment of the machine's own time, `elapsed`, which no clock on the wall can move
and which all processes that share the file read alike. It is over when the machine was started
anew, since nothing that ran before runs now. Where a machine cannot tell one start from another,
and in files of earlier versions, it ends at a time on the wall.
"""

from __future__ import annotations

import sqlite3

from rondel.journal.clock import Clock, boot, elapsed
from rondel.journal.sqlite import checksums
from rondel.journal.store import Lease

_KEY = "(SELECT key FROM session WHERE id = ?)"


class Leases:
    """Who drives sessions, by this process's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def until(self, ttl: float) -> float:
        """When a lease ends that is given for so long."""
        return ttl + (self._clock.now() if boot() is None else elapsed())

    def left(self, until: float) -> float:
        """Seconds until a lease ends that was given since the machine was started."""
        return until - (self._clock.now() if boot() is None else elapsed())

    def running(self, db: sqlite3.Connection, id: str) -> Lease | None:
        """The lease that runs now, or None."""
        row = db.execute(
            f"SELECT owner, until, boot FROM head WHERE session = {_KEY}",  # noqa: S608
            (id,),
        ).fetchone()
        if row is None or row[0] is None or row[1] is None:
            return None
        owner, until, when = row
        now = self._clock.now()
        left = until - now
        if when is not None:
            left = self.left(until) if when == boot() else 0.0
        return Lease(owner, now + left) if left > 0 else None

    def give(self, db: sqlite3.Connection, key: int, owner: str, ttl: float) -> Lease:
        """Lease the session."""
        lease = (owner, self.until(ttl), boot())
        db.execute(
            "UPDATE head SET owner = ?, until = ?, boot = ?, lease_sum = ? WHERE session = ?",
            (*lease, checksums.of(key, *lease), key),
        )
        return Lease(owner, self._clock.now() + ttl)

    def renew(self, db: sqlite3.Connection, id: str, owner: str, ttl: float) -> bool:
        """Prolong a lease; False if it is not this owner's any more."""
        mine = f"SELECT session FROM head WHERE session = {_KEY} AND owner = ?"  # noqa: S608
        row = db.execute(mine, (id, owner)).fetchone()
        if row is None:
            return False
        self.give(db, row[0], owner, ttl)
        return True

    @staticmethod
    def take_back(db: sqlite3.Connection, id: str, owner: str) -> None:
        """End a lease; nothing happens if it is not this owner's."""
        db.execute(
            "UPDATE head SET owner = NULL, until = NULL, boot = NULL, lease_sum = NULL "  # noqa: S608
            f"WHERE session = {_KEY} AND owner = ?",
            (id, owner),
        )
