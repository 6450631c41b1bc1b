"""The rows of sessions in a SQLite file: reading one, or a page of them; their checksums."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from rondel.errors import JournalCorrupt
from rondel.journal.codec import decode_value
from rondel.journal.rules import cursor, graph_digest, parse_cursor
from rondel.journal.sqlite import checksums
from rondel.journal.store import DAMAGED, Due, Page, SessionRow

_ROWS = """
SELECT s.key, s.id, s.graph_id, s.graph, s.inputs, s.labels, s.status, s.reason,
       s.created_at, s.updated_at, p.id, s.parent_length,
       (SELECT length FROM extent WHERE session = s.key), s.due, s.parent, s.sum, s.state_sum
FROM session s LEFT JOIN session p ON p.key = s.parent
"""
_SEALS = 3
"""The number of columns at the end that are checksums."""

_SEALED = (
    "SELECT id, graph, graph_id, inputs, labels, created_at, parent, parent_length, "
    "status, reason, updated_at, due FROM session WHERE key = ?"
)
_STATE = "SELECT status, reason, updated_at, due FROM session WHERE key = ?"


def seal(db: sqlite3.Connection, key: int) -> None:
    """Note the checksums of a row that was just added."""
    *fixed, status, reason, updated, due = db.execute(_SEALED, (key,)).fetchone()
    found = (checksums.of(*fixed), state_sum(key, status, reason, updated, due), key)
    db.execute("UPDATE session SET sum = ?, state_sum = ? WHERE key = ?", found)


def state_sum(key: int, status: str, reason: str, updated: float, due: float | None) -> int:
    """The checksum of the part of a row that changes; a deadline counts only if there is one."""
    return checksums.of(key, status, reason, updated, *(() if due is None else (due,)))


def set_status(
    db: sqlite3.Connection, key: int, status: str, reason: str, now: float, due: float | None
) -> None:
    """Change a session's status, and when it is due."""
    state = (status, reason, now, due)
    db.execute(
        "UPDATE session SET status = ?, reason = ?, updated_at = ?, due = ?, state_sum = ? "
        "WHERE key = ?",
        (*state, state_sum(key, *state), key),
    )


def state(db: sqlite3.Connection, key: int) -> tuple[str, float | None]:
    """A session's status and deadline."""
    status, _, _, due = db.execute(_STATE, (key,)).fetchone()
    return status, due


def due(db: sqlite3.Connection, limit: int, noted_after: float) -> list[Due]:
    """Sessions with a deadline, the earliest first."""
    wanted = (
        "SELECT id, due, updated_at FROM session WHERE due IS NOT NULL AND updated_at > ? "
        "ORDER BY due LIMIT ?"
    )
    return [Due(*row) for row in db.execute(wanted, (noted_after, limit))]


def one(db: sqlite3.Connection, id: str) -> SessionRow | None:
    """The session's row, or None."""
    row = db.execute(f"{_ROWS} WHERE s.id = ?", (id,)).fetchone()
    return None if row is None else _row(db, row, {})


def page(
    db: sqlite3.Connection, status: str | None, graph_id: str | None, before: str | None, limit: int
) -> Page:
    """Sessions, newest first; a damaged one is listed as damaged."""
    edge = parse_cursor(before)
    wanted: list[tuple[str, Sequence[Any]]] = [
        ("s.status = ?", (status,)),
        ("s.graph_id = ?", (graph_id,)),
        ("(s.created_at, s.key) < (?, ?)", edge or (None,)),
    ]
    rules = [(rule, values) for rule, values in wanted if values[0] is not None]
    where = "WHERE " + " AND ".join(rule for rule, _ in rules) if rules else ""
    values = [value for _, given in rules for value in given]
    found = db.execute(
        f"{_ROWS} {where} ORDER BY s.created_at DESC, s.key DESC LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    graphs: dict[int, tuple[Any, Any]] = {}
    rows = [_row_or_damage(db, row, graphs) for row in found[:limit]]
    more = len(found) > limit and rows
    return Page(rows, cursor(rows[-1].created_at, found[limit - 1][0]) if more else None)


def _row_or_damage(
    db: sqlite3.Connection, row: tuple[Any, ...], graphs: dict[int, tuple[Any, Any]]
) -> SessionRow:
    try:
        return _row(db, row, graphs)
    except JournalCorrupt as error:
        created, updated = (time if isinstance(time, float) else 0.0 for time in row[8:10])
        return SessionRow(
            str(row[1]),
            str(row[2]),
            {},
            status=DAMAGED,
            reason=str(error),
            created_at=created,
            updated_at=updated,
        )


def _row(
    db: sqlite3.Connection, row: tuple[Any, ...], graphs: dict[int, tuple[Any, Any]]
) -> SessionRow:
    key, name, graph_id, graph, inputs, labels, *rest = row[:-_SEALS]
    check(row)
    if graph not in graphs:
        graphs[graph] = _graph(db, graph, name)
    document, includes = graphs[graph]
    try:
        return SessionRow(
            name, graph_id, document, includes, decode_value(inputs), decode_value(labels), *rest
        )
    except JournalCorrupt as error:
        raise JournalCorrupt(f"the row of session {name!r} ({key}) is damaged: {error}") from error


def check(row: tuple[Any, ...]) -> None:
    """Raise if the checksums of a row do not fit."""
    key, name, graph_id, graph, inputs, labels, status, reason, created, updated = row[:10]
    length, due, parent, fixed_sum, changing_sum = row[12:]
    fixed = (name, graph, graph_id, inputs, labels, created, parent, row[11])
    bad = []
    if fixed_sum is not None and fixed_sum != checksums.of(*fixed):
        bad.append("what it was started with")
    if changing_sum not in (None, state_sum(key, status, reason, updated, due)):
        bad.append("its status")
    if length is None:
        bad.append("where its ticks end")
    if parent is not None and row[10] is None:
        bad.append("the session that it is a fork of")
    if bad:
        raise JournalCorrupt(
            f"the row of session {name!r} is damaged: {' and '.join(bad)} cannot be read; "
            "rondel verify tells more"
        )


def graph_key(db: sqlite3.Connection, document: bytes, includes: bytes) -> int:
    """The key of a graph, which is stored once for all its sessions."""
    digest = graph_digest(document, includes)
    found = db.execute("SELECT key FROM graph WHERE digest = ?", (digest,)).fetchone()
    if found is not None:
        return int(found[0])
    new = "INSERT INTO graph (digest, document, includes) VALUES (?, ?, ?)"
    return db.execute(new, (digest, document, includes)).lastrowid or 0


def _graph(db: sqlite3.Connection, key: int, name: str) -> tuple[Any, Any]:
    found = db.execute("SELECT document, includes FROM graph WHERE key = ?", (key,)).fetchone()
    if found is None:
        raise JournalCorrupt(f"the graph of session {name!r} is missing; rondel verify tells more")
    return decode_value(found[0]), decode_value(found[1])
