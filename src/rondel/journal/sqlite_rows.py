"""The rows of sessions in a SQLite file: reading one, or a page of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from rondel.journal.codec import decode_value
from rondel.journal.rules import cursor, parse_cursor
from rondel.journal.store import Page, SessionRow

_ROWS = """
SELECT s.key, s.id, s.graph_id, s.graph, s.inputs, s.labels, s.status, s.reason,
       s.created_at, s.updated_at, p.id, s.parent_length, h.length
FROM session s JOIN extent h ON h.session = s.key LEFT JOIN session p ON p.key = s.parent
"""


def one(db: sqlite3.Connection, id: str) -> SessionRow | None:
    """The session's row, or None."""
    row = db.execute(f"{_ROWS} WHERE s.id = ?", (id,)).fetchone()
    return None if row is None else _row(db, row, {})


def page(
    db: sqlite3.Connection, status: str | None, graph_id: str | None, before: str | None, limit: int
) -> Page:
    """Sessions, newest first."""
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
    rows = [_row(db, row, graphs) for row in found[:limit]]
    more = len(found) > limit and rows
    return Page(rows, cursor(rows[-1].created_at, found[limit - 1][0]) if more else None)


def _row(
    db: sqlite3.Connection, row: tuple[Any, ...], graphs: dict[int, tuple[Any, Any]]
) -> SessionRow:
    _, name, graph_id, graph, inputs, labels, *rest = row
    if graph not in graphs:
        document, includes = db.execute(
            "SELECT document, includes FROM graph WHERE key = ?", (graph,)
        ).fetchone()
        graphs[graph] = decode_value(document), decode_value(includes)
    document, includes = graphs[graph]
    return SessionRow(
        name, graph_id, document, includes, decode_value(inputs), decode_value(labels), *rest
    )
