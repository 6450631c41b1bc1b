"""Letters in a SQLite file, and their replies.

A reply is stored as a letter to a session that does not exist: the letter's number, negative.
"""

from __future__ import annotations

import sqlite3

import msgspec

from rondel.journal.sqlite import checksums
from rondel.journal.store import REPLIES_KEPT, Letter, Reply

_ADD = "INSERT INTO letter (session, control, posted_at, sum) VALUES (?, ?, ?, ?)"
_decoder = msgspec.json.Decoder(Reply)


def post(db: sqlite3.Connection, session: int, control: bytes, now: float) -> int:
    """Leave a control for the driver of the session, and delete old replies."""
    db.execute("DELETE FROM letter WHERE session < 0 AND posted_at < ?", (now - REPLIES_KEPT,))
    return _add(db, session, control, now)


def unread(db: sqlite3.Connection, session: int) -> list[Letter]:
    """The letters not yet answered, oldest first."""
    wanted = "SELECT number, control, posted_at FROM letter WHERE session = ? ORDER BY number"
    return [Letter(*row) for row in db.execute(wanted, (session,))]


def reply(db: sqlite3.Connection, session: int, letter: int, reply: Reply, now: float) -> None:
    """Answer a letter; nothing happens if it is answered already."""
    statement = "DELETE FROM letter WHERE number = ? AND session = ?"
    if db.execute(statement, (letter, session)).rowcount:
        _add(db, -letter, msgspec.json.encode(reply), now)


def reply_to(db: sqlite3.Connection, letter: int) -> Reply | None:
    """What became of a letter."""
    wanted = "SELECT control FROM letter WHERE session = ?"
    row = db.execute(wanted, (-letter,)).fetchone()
    return None if row is None else _decoder.decode(row[0])


def addressees(db: sqlite3.Connection) -> set[str]:
    """The sessions that have letters."""
    wanted = "SELECT id FROM session WHERE key IN (SELECT session FROM letter)"
    return {found for (found,) in db.execute(wanted)}


def _add(db: sqlite3.Connection, session: int, content: bytes, now: float) -> int:
    fields = (session, content, now)
    return db.execute(_ADD, (*fields, checksums.of(*fields))).lastrowid or 0
