"""Reading the ticks and snapshots of a session from PostgreSQL, its shared past included."""

from __future__ import annotations

from rondel.engine.ticks import AnyTick
from rondel.errors import JournalCorrupt, UnknownSession
from rondel.journal.compact import decode
from rondel.journal.postgres.database import Connection, stored
from rondel.journal.rules import unpacked

# Each session of the lineage has the ticks from `first` up to, not including, `stop`.
_LINEAGE = """
WITH RECURSIVE line (key, parent, first, stop) AS (
    SELECT s.key, s.parent, s.parent_length, h.length
    FROM rondel.session s JOIN rondel.head h ON h.session = s.key WHERE s.id = %(id)s
    UNION ALL
    SELECT s.key, s.parent, s.parent_length, least(line.first, line.stop)
    FROM line JOIN rondel.session s ON s.key = line.parent
)
"""

_TICKS = f"""
{_LINEAGE}
SELECT t.n, t.record, (SELECT max(stop) FROM line) FROM line
LEFT JOIN rondel.tick t ON t.session = line.key
    AND t.n >= greatest(line.first, %(start)s) AND t.n < least(line.stop, %(stop)s)
ORDER BY t.n
"""  # noqa: S608

_SNAPSHOT = f"""
{_LINEAGE}
SELECT snapshot.n, snapshot.state FROM line JOIN LATERAL (
    SELECT n, state FROM rondel.snapshot
    WHERE session = line.key AND n <= least(line.stop, %(at_most)s) ORDER BY n DESC LIMIT 1
) snapshot ON true
ORDER BY snapshot.n DESC LIMIT 1
"""  # noqa: S608

_ENDLESS = 2**62


def read_ticks(db: Connection, id: str, start: int, stop: int | None) -> list[AnyTick]:
    """The ticks of a session from `start` up to, not including, `stop`."""
    most = _ENDLESS if stop is None else stop
    where = {"id": stored(id), "start": start, "stop": most}
    rows = db.execute(_TICKS, where, binary=True).fetchall()
    if not rows:
        raise UnknownSession(f"there is no session {id!r}")
    end = min(most, rows[0][2])
    found = [(n, record) for n, record, _ in rows if n is not None]
    if [n for n, _ in found] != list(range(start, end)):
        raise JournalCorrupt(
            f"the journal is damaged: session {id!r} has {len(found)} of its ticks "
            f"{start} to {end - 1}"
        )
    return [decode(record) for _, record in found]


def latest_snapshot(db: Connection, id: str, at_most: int | None) -> tuple[int, bytes] | None:
    """The newest snapshot of at most that many ticks, from the shared past too."""
    limit = _ENDLESS if at_most is None else at_most
    where = {"id": stored(id), "at_most": limit}
    row = db.execute(_SNAPSHOT, where, binary=True).fetchone()
    return None if row is None else (row[0], unpacked(row[1]))
