"""Reading the ticks of a session from SQLite, across the forks that share them.

A session's ticks hang together backwards: each names the one before. A part is read from the
nearest indexed tick at or after its end, back to its start.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from rondel.engine.ticks import AnyTick
from rondel.errors import JournalCorrupt, UnknownSession
from rondel.journal.compact import decode

_QUICK = 1
"""The level of zlib that takes the least time."""

MARK = 64
"""Every so many ticks one is indexed; the schema has the same number."""

_WALK = """
WITH RECURSIVE past (n, prev, record) AS (
    SELECT n, prev, record FROM tick WHERE seq = ?
    UNION ALL
    SELECT tick.n, tick.prev, tick.record
    FROM past JOIN tick ON tick.seq = past.prev WHERE past.n > ?
)
SELECT record FROM past WHERE n BETWEEN ? AND ?
"""

_LINEAGE = """
WITH RECURSIVE line (key, parent, parent_length) AS (
    SELECT key, parent, parent_length FROM session WHERE id = ?
    UNION ALL
    SELECT session.key, session.parent, session.parent_length
    FROM line JOIN session ON session.key = line.parent
)
SELECT line.key, line.parent_length, extent.length, extent.last
FROM line JOIN extent ON extent.session = line.key
"""


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A session whose ticks from `first` up to, not including, `stop` are in the lineage."""

    key: int
    first: int
    stop: int
    length: int
    last: int | None


def lineage(db: sqlite3.Connection, id: str) -> list[Ancestor]:
    """The session and those whose past it shares, itself first."""
    found: list[Ancestor] = []
    limit: int | None = None
    for key, first, length, last in db.execute(_LINEAGE, (id,)):
        stop = length if limit is None else min(limit, length)
        found.append(Ancestor(key, first, stop, length, last))
        limit = min(first, stop)
    if not found:
        raise UnknownSession(f"there is no session {id!r}")
    return found


def read_ticks(db: sqlite3.Connection, id: str, start: int, stop: int | None) -> list[AnyTick]:
    """The ticks of a session from `start` up to, not including, `stop`."""
    parts: list[list[AnyTick]] = []
    for ancestor in lineage(db, id):
        first = max(start, ancestor.first)
        end = ancestor.stop if stop is None else min(stop, ancestor.stop)
        if first < end:
            records = _records(db, ancestor, first, end)
            if len(records) != end - first:
                raise JournalCorrupt(
                    f"the journal is damaged: session {id!r} has {len(records)} of its ticks "
                    f"{first} to {end - 1}"
                )
            parts.append([decode(record) for record in records])
        if start >= ancestor.first:
            break
    return [tick for part in reversed(parts) for tick in part]


def _records(db: sqlite3.Connection, ancestor: Ancestor, first: int, end: int) -> list[bytes]:
    entry = ancestor.last
    mark = -(-(end - 1) // MARK) * MARK
    if mark < ancestor.length - 1:
        row = db.execute(
            f"SELECT seq FROM tick WHERE session = ? AND n = ? AND n % {MARK} = 0",  # noqa: S608
            (ancestor.key, mark),
        ).fetchone()
        entry = row[0] if row else None
    records = [record for (record,) in db.execute(_WALK, (entry, first, first, end - 1))]
    records.reverse()
    return records


def snapshots(db: sqlite3.Connection, id: str, at_most: int | None) -> Iterator[tuple[int, bytes]]:
    """The newest fitting snapshot of each session in the lineage, nearest first."""
    for ancestor in lineage(db, id):
        limit = ancestor.stop if at_most is None else min(at_most, ancestor.stop)
        row = db.execute(
            "SELECT n, state, packed FROM snapshot WHERE session = ? AND n <= ? "
            "ORDER BY n DESC LIMIT 1",
            (ancestor.key, limit),
        ).fetchone()
        if row is not None:
            n, state, packed = row
            yield n, _unpack(state) if packed else state


def pack(state: bytes) -> bytes:
    """A snapshot as it is stored."""
    return zlib.compress(state, _QUICK)


def _unpack(state: bytes) -> bytes:
    try:
        return zlib.decompress(state)
    except zlib.error:
        return b""  # a snapshot is a shortcut: one that does not fit is not used
