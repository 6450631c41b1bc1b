"""Reading the ticks of a session from SQLite, across the forks that share them.

Each tick of a session names the one before it. A part is read backwards: from the nearest indexed
tick at or after its end, to its start.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from rondel.engine.ticks import AnyTick
from rondel.errors import JournalCorrupt, UnknownSession
from rondel.journal.compact import decode
from rondel.journal.rules import unpacked
from rondel.journal.sqlite import checksums

MARK = 64
"""One tick in this many is indexed; the schema has the same number."""

_WALK = """
WITH RECURSIVE past (n, prev, record, sum) AS (
    SELECT n, prev, record, sum FROM tick WHERE seq = ?
    UNION ALL
    SELECT tick.n, tick.prev, tick.record, tick.sum
    FROM past JOIN tick ON tick.seq = past.prev WHERE past.n > ?
)
SELECT record, sum FROM past WHERE n BETWEEN ? AND ?
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
            parts.append(_decoded(id, ancestor, first, _records(db, id, ancestor, first, end)))
        if start >= ancestor.first:
            break
    return [tick for part in reversed(parts) for tick in part]


Record = tuple[bytes, int | None]
"""What is stored of a tick, and its checksum if it has one."""


def _decoded(id: str, ancestor: Ancestor, first: int, records: list[Record]) -> list[AnyTick]:
    """The ticks from `first` on; raises if one is damaged."""
    before: int | None = None
    skipped = 0
    if first > ancestor.first:
        before, skipped = records[0][1], 1
    found: list[AnyTick] = []
    for record, checksum in records[skipped:]:
        try:
            if checksum is not None:
                start = checksums.first(ancestor.key) if before is None else before
                if checksum != checksums.chained(start, record):
                    raise JournalCorrupt("its checksum does not fit")
            elif before is not None:
                raise JournalCorrupt("it has no checksum, and the one before it has")
            found.append(decode(record))
        except JournalCorrupt as error:
            raise JournalCorrupt(
                f"tick {first + len(found)} of session {id!r} is damaged: {error}; "
                "rondel verify tells more"
            ) from error
        before = checksum
    return found


def _records(
    db: sqlite3.Connection, id: str, ancestor: Ancestor, first: int, end: int
) -> list[Record]:
    """The stored records, beginning with the one before the first if there is one."""
    entry = ancestor.last
    mark = -(-(end - 1) // MARK) * MARK
    if mark < ancestor.length - 1:
        row = db.execute(
            f"SELECT seq FROM tick WHERE session = ? AND n = ? AND n % {MARK} = 0",  # noqa: S608
            (ancestor.key, mark),
        ).fetchone()
        entry = row[0] if row else None
    begin = max(first - 1, ancestor.first)
    records: list[Record] = db.execute(_WALK, (entry, begin, begin, end - 1)).fetchall()
    if len(records) != end - begin:
        raise JournalCorrupt(
            f"the journal is damaged: session {id!r} has {len(records)} of its ticks "
            f"{begin} to {end - 1}; rondel verify tells more"
        )
    records.reverse()
    return records


def snapshots(db: sqlite3.Connection, id: str, at_most: int | None) -> Iterator[tuple[int, bytes]]:
    """The newest fitting snapshot of each session in the lineage, nearest first."""
    for ancestor in lineage(db, id):
        limit = ancestor.stop if at_most is None else min(at_most, ancestor.stop)
        row = db.execute(
            "SELECT n, state, packed, sum FROM snapshot WHERE session = ? AND n <= ? "
            "ORDER BY n DESC LIMIT 1",
            (ancestor.key, limit),
        ).fetchone()
        if row is not None:
            n, state, packed, checksum = row
            if checksum is not None and checksum != checksums.of(ancestor.key, n, state, packed):
                state = b""  # a snapshot is only a shortcut: a damaged one is not used
            yield n, unpacked(state) if packed else state


def keep_snapshot(db: sqlite3.Connection, key: int, n: int, state: bytes) -> None:
    """Keep a packed snapshot."""
    db.execute(
        "INSERT OR REPLACE INTO snapshot (session, n, state, packed, sum) VALUES (?, ?, ?, 1, ?)",
        (key, n, state, checksums.of(key, n, state, 1)),
    )
