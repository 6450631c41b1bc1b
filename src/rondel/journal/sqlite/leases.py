"""Leases and letters in a SQLite file; each function works in an open transaction.

The end of a lease is a moment of the machine's own time, `elapsed`: setting the system's clock does
not move it, and all processes of the machine read the same. A reboot ends all leases, since nothing
that ran before it runs now. Where a machine has no boot id, and in files of earlier versions, a
lease ends by the system's clock.

A reply is stored as a letter to a session that does not exist: the letter's number, negative.
"""

from __future__ import annotations

import sqlite3

import msgspec

from rondel.journal.clock import Clock, boot, elapsed
from rondel.journal.sqlite import checksums
from rondel.journal.store import REPLIES_KEPT, Lease, Letter, Reply

_ADD_LETTER = "INSERT INTO letter (session, control, posted_at, sum) VALUES (?, ?, ?, ?)"
_decoder = msgspec.json.Decoder(Reply)

_KEY = "(SELECT key FROM session WHERE id = ?)"


class Leases:
    """Gives, prolongs and ends leases by this process's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def until(self, ttl: float) -> float:
        """When a lease of `ttl` seconds ends."""
        return ttl + (self._clock.now() if boot() is None else elapsed())

    def left(self, until: float) -> float:
        """Seconds until a lease of the current boot ends."""
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

    def give(self, db: sqlite3.Connection, key: int, owner: str, ttl: float) -> None:
        """Lease the session."""
        lease = (owner, self.until(ttl), boot())
        db.execute(
            "UPDATE head SET owner = ?, until = ?, boot = ?, lease_sum = ? WHERE session = ?",
            (*lease, checksums.of(key, *lease), key),
        )

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


# Letters


def post(db: sqlite3.Connection, session: int, control: bytes, now: float) -> int:
    """Leave a control for the driver of the session, and delete old replies."""
    db.execute("DELETE FROM letter WHERE session < 0 AND posted_at < ?", (now - REPLIES_KEPT,))
    return _add_letter(db, session, control, now)


def unread(db: sqlite3.Connection, session: int) -> list[Letter]:
    """The letters not yet answered, oldest first."""
    wanted = "SELECT number, control, posted_at FROM letter WHERE session = ? ORDER BY number"
    return [Letter(*row) for row in db.execute(wanted, (session,))]


def reply(db: sqlite3.Connection, session: int, letter: int, reply: Reply, now: float) -> None:
    """Answer a letter; nothing happens if it is answered already."""
    statement = "DELETE FROM letter WHERE number = ? AND session = ?"
    if db.execute(statement, (letter, session)).rowcount:
        _add_letter(db, -letter, msgspec.json.encode(reply), now)


def reply_to(db: sqlite3.Connection, letter: int) -> Reply | None:
    """What became of a letter."""
    wanted = "SELECT control FROM letter WHERE session = ?"
    row = db.execute(wanted, (-letter,)).fetchone()
    return None if row is None else _decoder.decode(row[0])


def addressees(db: sqlite3.Connection) -> set[str]:
    """The sessions that have letters."""
    wanted = "SELECT id FROM session WHERE key IN (SELECT session FROM letter)"
    return {found for (found,) in db.execute(wanted)}


def _add_letter(db: sqlite3.Connection, session: int, content: bytes, now: float) -> int:
    fields = (session, content, now)
    return db.execute(_ADD_LETTER, (*fields, checksums.of(*fields))).lastrowid or 0
