"""Attachments in PostgreSQL: what each call does."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from rondel.journal.postgres.database import Connection, stored

_SWEEPING = 0x41545443
"""The lock that keeps what is being held from being swept away."""

_HOLD = """
WITH kept AS (
    INSERT INTO rondel.attachment (digest, content) VALUES (%(digest)s, %(content)s)
    ON CONFLICT DO NOTHING
)
INSERT INTO rondel.attachment_hold AS held (digest, until) VALUES (%(digest)s, %(until)s)
ON CONFLICT (digest) DO UPDATE SET until = greatest(held.until, excluded.until)
"""

_REFER = """
WITH used AS (
    INSERT INTO rondel.attachment_use (session, digest)
    SELECT %(session)s, unnest(%(digests)s::bytea[]) ON CONFLICT DO NOTHING
)
DELETE FROM rondel.attachment_hold WHERE digest = ANY(%(digests)s::bytea[])
"""

_LINEAGE = """
WITH RECURSIVE line (key, parent) AS (
    SELECT key, parent FROM rondel.session WHERE id = %s
    UNION ALL
    SELECT s.key, s.parent FROM line JOIN rondel.session s ON s.key = line.parent
)
SELECT DISTINCT digest FROM rondel.attachment_use
WHERE session IN (SELECT key FROM line) ORDER BY digest
"""

_SWEEP = """
DELETE FROM rondel.attachment a
WHERE NOT EXISTS (SELECT 1 FROM rondel.attachment_hold h WHERE h.digest = a.digest)
AND NOT EXISTS (SELECT 1 FROM rondel.attachment_use u WHERE u.digest = a.digest)
"""


def hold(db: Connection, content: bytes, until: float) -> None:
    """Keep the content, at least until then."""
    digest = sha256(content).digest()
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock_shared(%s)", (_SWEEPING,))
        db.execute(_HOLD, {"digest": digest, "content": content, "until": until})


def refer(db: Connection, session: int, digests: Iterable[str]) -> None:
    """A session refers to these from now on; that holds them as long as it is there."""
    given = [bytes.fromhex(digest) for digest in digests]
    db.execute(_REFER, {"session": session, "digests": given})


def let_go(db: Connection, session: int) -> None:
    """In a transaction: the session is gone, and with it what only it referred to."""
    db.execute("DELETE FROM rondel.attachment_use WHERE session = %s", (session,))
    db.execute("DELETE FROM rondel.attachment_hold WHERE until < rondel.now()")
    db.execute("SELECT pg_advisory_xact_lock(%s)", (_SWEEPING,))
    db.execute(_SWEEP)


def content(db: Connection, digest: str) -> bytes | None:
    """The bytes of that digest."""
    row = db.execute(
        "SELECT content FROM rondel.attachment WHERE digest = %s",
        (bytes.fromhex(digest),),
        binary=True,
    ).fetchone()
    return None if row is None else bytes(row[0])


def is_kept(db: Connection, digest: str) -> bool:
    """Whether there are bytes of that digest."""
    asked = "SELECT 1 FROM rondel.attachment WHERE digest = %s"
    return db.execute(asked, (bytes.fromhex(digest),)).fetchone() is not None


def used_by(db: Connection, session: str) -> list[str]:
    """What a session refers to, its shared past included."""
    return [digest.hex() for (digest,) in db.execute(_LINEAGE, (stored(session),))]
