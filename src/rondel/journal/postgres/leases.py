"""Who drives a session and what others ask of it: leases and letters in PostgreSQL.

A lease runs until its own time is over and until the row of its owner is: whoever drives many
sessions prolongs that one row. All times are those of the database's clock.
"""

from __future__ import annotations

from rondel.errors import UnknownSession
from rondel.journal.postgres.database import Connection, stored, told
from rondel.journal.store import REPLIES_KEPT, Lease, Letter, Reply

_KEY = "(SELECT key FROM rondel.session WHERE id = %(id)s)"

_UNTIL = """
greatest(h.until, (SELECT d.until FROM rondel.driver d WHERE d.owner = h.owner))
"""

_ACQUIRE = f"""
UPDATE rondel.head h SET owner = %(owner)s, until = rondel.now() + %(ttl)s
WHERE h.session = {_KEY} AND (
    h.owner IS NULL OR h.owner = %(owner)s OR coalesce({_UNTIL}, 0) <= rondel.now()
)
RETURNING h.session, h.length, h.until
"""  # noqa: S608

# A statement of its own: it sees what was written while the one before waited for the row.
_STATE = "SELECT status, due FROM rondel.session WHERE key = %s"

_HELD = f"""
SELECT h.session, h.length, h.owner, {_UNTIL}, {_UNTIL} > rondel.now()
FROM rondel.head h WHERE h.session = {_KEY}
"""  # noqa: S608

_RENEW = f"""
UPDATE rondel.head SET until = rondel.now() + %(ttl)s
WHERE session = {_KEY} AND owner = %(owner)s
"""  # noqa: S608

_RELEASE = f"""
UPDATE rondel.head SET owner = NULL, until = NULL WHERE session = {_KEY} AND owner = %(owner)s
"""  # noqa: S608

# What was submitted just now is on its way to a worker.
_ABANDONED = f"""
SELECT s.id FROM rondel.session s JOIN rondel.head h ON h.session = s.key
WHERE s.status IN ('running', 'pending') AND CASE
    WHEN h.owner IS NOT NULL THEN {_UNTIL} <= rondel.now()
    ELSE s.status = 'running' OR s.created_at < rondel.now() - 30
END
ORDER BY s.status DESC, s.created_at LIMIT %s
"""  # noqa: S608

_POST = """
WITH old AS (DELETE FROM rondel.letter WHERE replied_at < rondel.now() - %(kept)s)
INSERT INTO rondel.letter (session, control, posted_at)
SELECT key, %(control)s, rondel.now() FROM rondel.session WHERE id = %(id)s RETURNING number
"""

_LETTERS = """
SELECT number, control, posted_at FROM rondel.letter
WHERE session = %s AND replied_at IS NULL ORDER BY number
"""

_REPLY = f"""
UPDATE rondel.letter SET refusal = %(refusal)s, replied_at = rondel.now()
WHERE session = {_KEY} AND number = %(letter)s AND replied_at IS NULL
"""  # noqa: S608

_REPLY_TO = """
SELECT tick, refusal FROM rondel.letter WHERE number = %s AND replied_at IS NOT NULL
"""

_PENDING = """
SELECT id FROM rondel.session
WHERE key IN (SELECT session FROM rondel.letter WHERE replied_at IS NULL)
AND (%(ids)s::text[] IS NULL OR id = ANY(%(ids)s))
"""

_ERASE_GRAPH = """
DELETE FROM rondel.graph g WHERE key = %s
AND NOT EXISTS (SELECT 1 FROM rondel.session s WHERE s.graph = g.key)
"""


def is_driven(id: str) -> str:
    """The SQL that says whether somebody drives the session whose id that SQL expression is."""
    return f"""EXISTS (
        SELECT 1 FROM rondel.session s JOIN rondel.head h ON h.session = s.key
        WHERE s.id = {id} AND {_UNTIL} > rondel.now()
    )"""  # noqa: S608


def acquire(db: Connection, id: str, owner: str, ttl: float) -> tuple[Lease, int, int] | None:
    """The lease, granted or another's, and the session's key and length; None if there is none."""
    values = {"id": stored(id), "owner": stored(owner), "ttl": ttl}
    row = db.execute(_ACQUIRE, values).fetchone()
    if row is not None:
        key, length, until = row
        status, due = db.execute(_STATE, (key,)).fetchone() or ("", None)
        return Lease(owner, until, status=told(status), due=due), key, length
    held = db.execute(_HELD, values).fetchone()
    if held is None:
        return None
    key, length, other, until, _ = held
    return Lease(told(other or ""), until or 0.0, granted=False), key, length


def running(db: Connection, id: str) -> Lease | None:
    """The lease that runs now, or None."""
    row = db.execute(_HELD, {"id": stored(id)}).fetchone()
    if row is None:
        raise UnknownSession(f"there is no session {id!r}")
    _, _, owner, until, runs = row
    return Lease(told(owner), until) if owner is not None and runs else None


def abandoned(db: Connection, limit: int) -> list[str]:
    """Sessions with something to do whose lease ran out, or that nobody has ever driven."""
    return [told(found) for (found,) in db.execute(_ABANDONED, (limit,))]


def renew(db: Connection, id: str, owner: str, ttl: float) -> bool:
    """Prolong a lease; False if it is not this owner's any more."""
    values = {"id": stored(id), "owner": stored(owner), "ttl": ttl}
    return db.execute(_RENEW, values).rowcount == 1


def release(db: Connection, id: str, owner: str) -> None:
    """Give a lease back."""
    db.execute(_RELEASE, {"id": stored(id), "owner": stored(owner)})


def place(db: Connection, id: str) -> tuple[int, int] | None:
    """The session's key, and where its ticks end."""
    row = db.execute(_HELD, {"id": stored(id)}).fetchone()
    return None if row is None else (row[0], row[1])


def post(db: Connection, id: str, control: bytes) -> int | None:
    """Leave a control; the number of the letter, or None if there is no such session."""
    values = {"id": stored(id), "control": control, "kept": REPLIES_KEPT}
    row = db.execute(_POST, values).fetchone()
    return None if row is None else int(row[0])


def letters(db: Connection, key: int) -> list[Letter]:
    """The letters not yet answered, oldest first."""
    return [Letter(*row) for row in db.execute(_LETTERS, (key,))]


def reply(db: Connection, id: str, letter: int, refusal: str) -> None:
    """Answer a letter that leads to no tick."""
    db.execute(_REPLY, {"id": stored(id), "letter": letter, "refusal": stored(refusal)})


def reply_to(db: Connection, letter: int) -> Reply | None:
    """What became of a letter."""
    row = db.execute(_REPLY_TO, (letter,)).fetchone()
    return None if row is None else Reply(row[0], told(row[1]))


def pending(db: Connection, ids: list[str] | None) -> set[str]:
    """Which sessions, or which of these, have letters."""
    return {told(found) for (found,) in db.execute(_PENDING, {"ids": ids})}


def erase(db: Connection, key: int) -> None:
    """In a transaction: all that a session has of its own, and its graph if it was the last."""
    for table in ("tick", "letter", "snapshot", "head"):
        db.execute(f"DELETE FROM rondel.{table} WHERE session = %s", (key,))  # noqa: S608
    erased = db.execute("DELETE FROM rondel.session WHERE key = %s RETURNING graph", (key,))
    db.execute(_ERASE_GRAPH, erased.fetchone() or (0,))
