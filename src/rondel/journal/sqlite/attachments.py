"""Attachments in a SQLite file; each function works in an open transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from hashlib import sha256

from rondel.errors import JournalError
from rondel.journal.sqlite import checksums

_KEEP = "INSERT INTO attachment (digest, content) VALUES (?, ?) ON CONFLICT DO NOTHING"

_HOLD = """
INSERT INTO attachment_hold (digest, until, sum) VALUES (?, ?, ?)
ON CONFLICT (digest) DO UPDATE SET until = excluded.until, sum = excluded.sum
WHERE excluded.until > until
"""

_LINEAGE = """
WITH RECURSIVE line (key) AS (
    SELECT key FROM session WHERE id = ?
    UNION ALL
    SELECT session.parent FROM line JOIN session ON session.key = line.key
    WHERE session.parent IS NOT NULL
)
SELECT DISTINCT digest FROM attachment_use WHERE session IN line ORDER BY digest
"""

_SWEEP = """
DELETE FROM attachment
WHERE NOT EXISTS (SELECT 1 FROM attachment_hold WHERE digest = attachment.digest)
AND NOT EXISTS (SELECT 1 FROM attachment_use WHERE digest = attachment.digest)
"""


def hold(db: sqlite3.Connection, content: bytes, until: float) -> None:
    """Keep the content, at least until then; a full disk does not harm sessions."""
    try:
        digest = sha256(content).digest()
        db.execute(_KEEP, (digest, content))
        db.execute(_HOLD, (digest, until, checksums.of(digest, float(until))))
    except sqlite3.Error as error:
        raise JournalError(f"the attachment cannot be kept: {error}") from error


def refer(db: sqlite3.Connection, session: int, digests: Iterable[str]) -> None:
    """Keep these as long as the session exists."""
    for digest in map(bytes.fromhex, digests):
        db.execute("INSERT OR IGNORE INTO attachment_use VALUES (?, ?)", (session, digest))
        db.execute("DELETE FROM attachment_hold WHERE digest = ?", (digest,))


def drop_references(db: sqlite3.Connection, session: int, now: float) -> None:
    """Drop the session's references, and the attachments that only it referred to."""
    db.execute("DELETE FROM attachment_use WHERE session = ?", (session,))
    db.execute("DELETE FROM attachment_hold WHERE until < ?", (now,))
    db.execute(_SWEEP)


def content(db: sqlite3.Connection, digest: str) -> bytes | None:
    """The bytes of that digest."""
    row = db.execute(
        "SELECT content FROM attachment WHERE digest = ?", (bytes.fromhex(digest),)
    ).fetchone()
    return None if row is None else bytes(row[0])


def is_kept(db: sqlite3.Connection, digest: str) -> bool:
    """Whether there are bytes of that digest."""
    where = (bytes.fromhex(digest),)
    return db.execute("SELECT 1 FROM attachment WHERE digest = ?", where).fetchone() is not None


def used_by(db: sqlite3.Connection, session: str) -> list[str]:
    """The attachments of a session, its shared past included."""
    return [digest.hex() for (digest,) in db.execute(_LINEAGE, (session,))]
