"""Working memory in PostgreSQL: what each call does in a transaction."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from rondel.journal.codec import decode_value
from rondel.journal.postgres.database import Connection, stored, told
from rondel.journal.rules import EncodedEntry
from rondel.journal.store import Group, GroupSummary, MemoryEntry, Promotion

_FIELDS = "session, address, number, node_id, content, data, confidence, created_at, id"

_UPSERT = """
INSERT INTO rondel.memory
    (whose, step, own, name, session, address, number, node_id, content, data, confidence,
     created_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, coalesce(%s, rondel.now()))
ON CONFLICT (whose, step, number) DO UPDATE SET
    node_id = excluded.node_id, content = excluded.content,
    data = excluded.data, confidence = excluded.confidence
"""

_DROP_OTHERS = """
DELETE FROM rondel.memory WHERE whose = %s
AND (created_at < %s OR (step = %s AND NOT number = ANY(%s)))
"""

_DROP_OLDEST = """
DELETE FROM rondel.memory WHERE whose = %(whose)s AND id NOT IN
(SELECT id FROM rondel.memory WHERE whose = %(whose)s ORDER BY id DESC LIMIT %(size)s)
"""

_OF_STEP = f"SELECT {_FIELDS} FROM rondel.memory WHERE whose = %s AND step = %s ORDER BY id"  # noqa: S608

_NEWEST = f"""
SELECT {_FIELDS} FROM rondel.memory WHERE whose = %s AND created_at >= %s
AND (confidence IS NULL OR confidence >= %s) ORDER BY id DESC LIMIT %s
"""  # noqa: S608

_GROUPS = """
SELECT own, min(name), count(*), max(created_at) FROM rondel.memory
GROUP BY own, whose ORDER BY max(id) DESC
"""


def remember(
    db: Connection, promotion: Promotion, entries: list[EncodedEntry], since: float, size: int
) -> list[MemoryEntry]:
    """Make these the step's entries, and drop what is too old or too much."""
    group = promotion.group
    whose, step = _whose(group), _digest(promotion.session, promotion.address)
    said = (stored(promotion.session), stored(promotion.address))
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_lock(whose),))
        db.execute(_DROP_OTHERS, (whose, since, step, [entry.number for entry, _, _ in entries]))
        for entry, content, data in entries:
            where = (whose, step, group.own, stored(group.name), *said, entry.number)
            what = (stored(entry.node_id), content, data, entry.confidence)
            db.execute(_UPSERT, (*where, *what, entry.created_at or None))
        db.execute(_DROP_OLDEST, {"whose": whose, "size": size})
        rows = db.execute(_OF_STEP, (whose, step)).fetchall()
    return [_entry(group, row) for row in rows]


def recall(
    db: Connection, group: Group, since: float, limit: int, least: float
) -> list[MemoryEntry]:
    """The group's newest entries, newest first."""
    rows = db.execute(_NEWEST, (_whose(group), since, least, limit))
    return [_entry(group, row) for row in rows]


def forget(db: Connection, group: Group) -> int:
    """Empty a group; how many entries it had."""
    return db.execute("DELETE FROM rondel.memory WHERE whose = %s", (_whose(group),)).rowcount


def groups(db: Connection) -> list[GroupSummary]:
    """The groups that have entries, the one with the newest entry first."""
    return [
        GroupSummary(Group(told(name), own), count, newest)
        for own, name, count, newest in db.execute(_GROUPS)
    ]


def _whose(group: Group) -> bytes:
    return _digest("own" if group.own else "named", group.name)


def _lock(whose: bytes) -> int:
    """The number that those who change the group wait for each other with."""
    return int.from_bytes(whose[:8], "big", signed=True)


def _digest(*texts: str) -> bytes:
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    return sha256(b"".join(b"%d:" % len(part) + part for part in parts)).digest()


def _entry(group: Group, row: tuple[Any, ...]) -> MemoryEntry:
    session, address, number, node_id, content, data, *rest = row
    where = (told(session), told(address), number, told(node_id))
    return MemoryEntry(group, *where, decode_value(content), decode_value(data), *rest)
