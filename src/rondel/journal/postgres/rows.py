"""The rows of sessions in PostgreSQL: reading one, or a page of them."""

from __future__ import annotations

from typing import Any

from rondel.journal.codec import decode_value
from rondel.journal.postgres.database import Connection, stored, told
from rondel.journal.rules import cursor, parse_cursor
from rondel.journal.store import Due, Page, SessionRow

_ROWS = """
SELECT s.key, s.id, s.graph_id, s.graph, s.inputs, s.labels, s.status, s.reason,
       s.created_at, s.updated_at, p.id, s.parent_length, h.length, s.due
FROM rondel.session s JOIN rondel.head h ON h.session = s.key
LEFT JOIN rondel.session p ON p.key = s.parent
"""

_GRAPHS = "SELECT key, document, includes FROM rondel.graph WHERE key = ANY(%s)"
_RULES = {
    "status": "s.status = %(status)s",
    "graph_id": (
        "hashtextextended(s.graph_id, 0) = hashtextextended(%(graph_id)s, 0) "
        "AND s.graph_id = %(graph_id)s"
    ),
    "time": "(s.created_at, s.key) < (%(time)s, %(key)s)",
}

_DUE = """
SELECT id, due, updated_at FROM rondel.session WHERE due IS NOT NULL AND updated_at > %s
ORDER BY due LIMIT %s
"""

Graphs = dict[int, tuple[Any, Any]]


def one(db: Connection, id: str) -> SessionRow | None:
    """The session's row, or None."""
    row = db.execute(f"{_ROWS} WHERE s.id = %s", (stored(id),)).fetchone()
    return None if row is None else _row(row, _graphs(db, [row]))


def statuses(db: Connection) -> dict[str, int]:
    """How many sessions are in each status."""
    found = db.execute("SELECT status, count(*) FROM rondel.session GROUP BY status")
    return {str(status): int(count) for status, count in found}


def page(
    db: Connection, status: str | None, graph_id: str | None, before: str | None, limit: int
) -> Page:
    """Sessions, newest first."""
    time, key = parse_cursor(before) or (None, None)
    given: dict[str, Any] = {"status": status, "graph_id": graph_id, "time": time}
    given = {name: value for name, value in given.items() if value is not None}
    rules = [_RULES[name] for name in given]
    where = "WHERE " + " AND ".join(rules) if rules else ""
    values = {name: stored(v) if isinstance(v, str) else v for name, v in given.items()}
    found = db.execute(
        f"{_ROWS} {where} ORDER BY s.created_at DESC, s.key DESC LIMIT %(limit)s",
        {**values, "key": key, "limit": limit + 1},
    ).fetchall()
    graphs = _graphs(db, found[:limit])
    rows = [_row(row, graphs) for row in found[:limit]]
    more = len(found) > limit and rows
    return Page(rows, cursor(rows[-1].created_at, found[limit - 1][0]) if more else None)


def due(db: Connection, limit: int, noted_after: float) -> list[Due]:
    """Sessions that need somebody at a time, the earliest first."""
    found = db.execute(_DUE, (noted_after, limit))
    return [Due(told(name), at, noted) for name, at, noted in found]


def _graphs(db: Connection, rows: list[tuple[Any, ...]]) -> Graphs:
    keys = list({row[3] for row in rows})
    if not keys:
        return {}
    found = db.execute(_GRAPHS, (keys,), binary=True)
    return {key: (decode_value(doc), decode_value(includes)) for key, doc, includes in found}


def _row(row: tuple[Any, ...], graphs: Graphs) -> SessionRow:
    _, name, graph_id, graph, inputs, labels, status, reason, *rest = row
    created_at, updated_at, parent, parent_length, length, due = rest
    document, includes = graphs.get(graph, ({}, {}))
    return SessionRow(
        told(name),
        told(graph_id),
        document,
        includes,
        decode_value(inputs),
        decode_value(labels),
        status,
        told(reason),
        created_at,
        updated_at,
        None if parent is None else told(parent),
        parent_length,
        length,
        due,
    )
