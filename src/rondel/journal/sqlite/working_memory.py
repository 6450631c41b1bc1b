"""Working memory in a SQLite file; each function works in an open transaction.

An error here is raised as a JournalError and stops nothing else, while an error of the journal
itself ends every session that writes to the file.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from rondel.errors import JournalError
from rondel.journal.codec import decode_value
from rondel.journal.rules import EncodedEntry
from rondel.journal.sqlite import checksums
from rondel.journal.store import Group, GroupSummary, MemoryEntry, Promotion

P = ParamSpec("P")
T = TypeVar("T")

FIELDS = "session, address, number, node_id, content, data, confidence, created_at, id"
_GROUP = "own = ? AND name = ?"
_STEP = f"{_GROUP} AND session = ? AND address = ?"

_UPSERT = """
INSERT INTO memory
    (own, name, session, address, number, node_id, content, data, confidence, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (own, name, session, address, number) DO UPDATE SET
    node_id = excluded.node_id, content = excluded.content,
    data = excluded.data, confidence = excluded.confidence
"""


def explained(call: Callable[P, T]) -> Callable[P, T]:
    """The call, with its errors turned into those of working memory."""

    @wraps(call)
    def safe(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except sqlite3.Error as error:
            raise JournalError(f"the working memory cannot be used: {error}") from error

    return safe


@explained
def remember(
    db: sqlite3.Connection,
    promotion: Promotion,
    entries: list[EncodedEntry],
    since: float,
    size: int,
) -> list[MemoryEntry]:
    """Make these the step's entries, and drop what is too old or too much."""
    group = _key(promotion.group)
    step = (*group, promotion.session, promotion.address)
    db.execute(f"DELETE FROM memory WHERE {_GROUP} AND created_at < ?", (*group, since))  # noqa: S608
    wanted = {entry.number for entry in promotion.entries}
    for (number,) in db.execute(f"SELECT number FROM memory WHERE {_STEP}", step).fetchall():  # noqa: S608
        if number not in wanted:
            db.execute(f"DELETE FROM memory WHERE {_STEP} AND number = ?", (*step, number))  # noqa: S608
    for entry, content, data in entries:
        made = entry.created_at or time.time()
        fields = (entry.number, entry.node_id, content, data, entry.confidence, made)
        db.execute(_UPSERT, (*step, *fields))
    db.execute(
        f"DELETE FROM memory WHERE {_GROUP} AND id NOT IN "  # noqa: S608
        f"(SELECT id FROM memory WHERE {_GROUP} ORDER BY id DESC LIMIT ?)",
        (*group, *group, size),
    )
    rows = db.execute(f"SELECT {FIELDS} FROM memory WHERE {_STEP} ORDER BY id", step).fetchall()  # noqa: S608
    seals = [(checksums.of(*group, *row), row[-1]) for row in rows]
    db.executemany("UPDATE memory SET sum = ? WHERE id = ?", seals)
    return [_entry(promotion.group, row) for row in rows]


def recall(
    db: sqlite3.Connection, group: Group, since: float, limit: int, least: float
) -> list[MemoryEntry]:
    """The group's newest entries, newest first."""
    rows = db.execute(
        f"SELECT {FIELDS} FROM memory WHERE {_GROUP} AND created_at >= ? "  # noqa: S608
        "AND (confidence IS NULL OR confidence >= ?) ORDER BY id DESC LIMIT ?",
        (*_key(group), since, least, limit),
    )
    return [_entry(group, row) for row in rows]


@explained
def forget(db: sqlite3.Connection, group: Group) -> int:
    """Empty a group; how many entries it had."""
    return db.execute(f"DELETE FROM memory WHERE {_GROUP}", _key(group)).rowcount  # noqa: S608


def groups(db: sqlite3.Connection) -> list[GroupSummary]:
    """The groups that have entries, the one with the newest entry first."""
    rows = db.execute(
        "SELECT own, name, count(*), max(created_at) FROM memory "
        "GROUP BY own, name ORDER BY max(id) DESC"
    )
    return [GroupSummary(Group(name, bool(own)), *rest) for own, name, *rest in rows]


def _key(group: Group) -> tuple[int, str]:
    return int(group.own), group.name


def _entry(group: Group, row: tuple[Any, ...]) -> MemoryEntry:
    session, address, number, node_id, content, data, *rest = row
    return MemoryEntry(
        group, session, address, number, node_id, decode_value(content), decode_value(data), *rest
    )
