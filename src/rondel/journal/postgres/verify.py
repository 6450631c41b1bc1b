"""Whether a PostgreSQL journal is as it was written: order, gaps, and what belongs together.

Its pages have checksums of their own where the server was set up with them, which is the default
from PostgreSQL 18 on; ticks have none besides.
"""

from __future__ import annotations

from typing import Any

from rondel.errors import JournalError
from rondel.journal.postgres import rows
from rondel.journal.postgres.database import Connection, told
from rondel.journal.rules import JournalFindings, SessionFindings, graph_digest

_SESSIONS = """
SELECT s.key, s.id, s.parent_length, h.length, t.ticks, t.first, t.last,
    s.parent IS NULL OR p.length >= s.parent_length
FROM rondel.session s LEFT JOIN rondel.head h ON h.session = s.key
LEFT JOIN rondel.head p ON p.session = s.parent
LEFT JOIN (
    SELECT session, count(*) AS ticks, min(n) AS first, max(n) AS last
    FROM rondel.tick GROUP BY session
) t ON t.session = s.key
ORDER BY s.key
"""

_DANGLING: dict[str, str] = {
    f"a {table} has no session": (
        f"SELECT 1 FROM rondel.{table} t WHERE NOT EXISTS "  # noqa: S608
        "(SELECT 1 FROM rondel.session s WHERE s.key = t.session) LIMIT 1"
    )
    for table in ("head", "tick", "letter", "snapshot", "attachment_use")
} | {
    "an attachment is referred to and missing": (
        "SELECT 1 FROM (SELECT digest FROM rondel.attachment_use "
        "UNION ALL SELECT digest FROM rondel.attachment_hold) used WHERE NOT EXISTS "
        "(SELECT 1 FROM rondel.attachment a WHERE a.digest = used.digest) LIMIT 1"
    ),
}


def findings(db: Connection) -> JournalFindings:
    """Look at everything as it is at one moment."""
    with db.transaction():
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        sessions = [_session(db, row) for row in db.execute(_SESSIONS).fetchall()]
        return JournalFindings([*_contents(db), *_dangling(db)], sessions)


def has_page_checksums(db: Connection) -> bool:
    """Whether the server checks every page that it reads."""
    (setting,) = db.execute("SHOW data_checksums").fetchone() or ("off",)
    return str(setting) == "on"


def _contents(db: Connection) -> list[str]:
    graphs = db.execute("SELECT key, digest, document, includes FROM rondel.graph", binary=True)
    found = [
        f"graph {key} does not fit its checksum"
        for key, digest, document, includes in graphs
        if graph_digest(document, includes) != digest
    ]
    files = db.execute("SELECT digest, sha256(content) FROM rondel.attachment", binary=True)
    return found + [
        f"the attachment {digest.hex()[:12]} does not fit its checksum"
        for digest, real in files
        if digest != real
    ]


def _dangling(db: Connection) -> list[str]:
    return [what for what, query in _DANGLING.items() if db.execute(query.encode()).fetchone()]


def _session(db: Connection, row: tuple[Any, ...]) -> SessionFindings:
    key, name, shared, length, ticks, first, last, fits = row
    found = SessionFindings(key, told(name), ticks or 0)
    if length is None:
        found.problems.append("where its ticks end is missing")
    elif (ticks or 0) != length - shared or (ticks and (first, last) != (shared, length - 1)):
        found.problems.append(f"of its {length - shared} ticks {ticks or 0} are there")
    if not fits:
        found.problems.append("the session that it is a fork of lacks a part of their past")
    try:
        rows.one(db, found.id)
    except JournalError as error:
        found.problems.append(f"its row is damaged: {error}")
    return found
