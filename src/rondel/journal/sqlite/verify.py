"""Verifies a SQLite journal: the order, gaps and checksums of everything in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from hashlib import sha256

from rondel.errors import JournalCorrupt, JournalError
from rondel.journal.rules import JournalFindings, SessionFindings, graph_digest
from rondel.journal.sqlite import checksums, rows, working_memory
from rondel.journal.sqlite.database import UNREADABLE

SHOWN = 5
"""How many of SQLite's own complaints are shown."""

_TICKS = """
WITH RECURSIVE past (seq, session, n, prev, record, sum) AS (
    SELECT seq, session, n, prev, record, sum FROM tick WHERE seq = ?
    UNION ALL
    SELECT tick.seq, tick.session, tick.n, tick.prev, tick.record, tick.sum
    FROM past JOIN tick ON tick.seq = past.prev
)
SELECT session, n, record, sum FROM past
"""

_SEALED: dict[str, str] = {
    "letter": "SELECT sum, session, control, posted_at FROM letter",
    "snapshot": "SELECT sum, session, n, state, packed FROM snapshot",
    "held attachment": "SELECT sum, digest, until FROM attachment_hold",
    "lease": "SELECT lease_sum, session, owner, until, boot FROM head WHERE owner IS NOT NULL",
    "entry of working memory": " ".join(
        ("SELECT sum, own, name,", working_memory.FIELDS, "FROM memory")
    ),
}

_DANGLING: dict[str, str] = {
    "an attachment is referred to and missing": (
        "SELECT 1 FROM (SELECT digest FROM attachment_use UNION ALL "
        "SELECT digest FROM attachment_hold) "
        "WHERE digest NOT IN (SELECT digest FROM attachment)"
    ),
    "an attachment is kept for a session that is not there": (
        "SELECT 1 FROM attachment_use WHERE session NOT IN (SELECT key FROM session)"
    ),
    "a session has no head": "SELECT 1 FROM session WHERE key NOT IN (SELECT session FROM head)",
    "a head has no session": "SELECT 1 FROM head WHERE session NOT IN (SELECT key FROM session)",
    "a tick has no session": "SELECT 1 FROM tick WHERE session NOT IN (SELECT key FROM session)",
    "a letter has no session": (
        "SELECT 1 FROM letter WHERE session > 0 AND session NOT IN (SELECT key FROM session)"
    ),
    "a snapshot has no session": (
        "SELECT 1 FROM snapshot WHERE session NOT IN (SELECT key FROM session)"
    ),
    "numbers that were given may be given again": (
        "SELECT 1 FROM (SELECT 'session' AS name, max(key) AS most FROM session "
        "UNION ALL SELECT 'letter', max(number) FROM letter "
        "UNION ALL SELECT 'memory', max(id) FROM memory) AS used "
        "WHERE most > coalesce((SELECT seq FROM sqlite_sequence s WHERE s.name = used.name), 0)"
    ),
}


def findings(db: sqlite3.Connection) -> JournalFindings:
    """Check everything; damage is reported and never raised."""
    counts = _counts(db)
    sessions = [_session_findings(db, key, counts) for key in _session_keys(db)]
    return JournalFindings(_file_problems(db), sessions)


def _file_problems(db: sqlite3.Connection) -> list[str]:
    found = _tried(lambda: _integrity(db))
    found += _tried(lambda: _graphs(db))
    found += _tried(lambda: _attachments(db))
    for what, query in _SEALED.items():
        found += _tried(partial(_misfits, db, query, what))
    for what, query in _DANGLING.items():
        found += _tried(partial(_found, db, query, what))
    return list(dict.fromkeys(found))


def _counts(db: sqlite3.Connection) -> dict[int, int] | None:
    """How many ticks each session has; None if they cannot be counted."""
    try:
        return dict(db.execute("SELECT session, count(*) FROM tick GROUP BY session").fetchall())
    except UNREADABLE:
        return None


def _session_keys(db: sqlite3.Connection) -> list[int]:
    """The keys of all sessions, also where the table is damaged in part."""
    try:
        return [key for (key,) in db.execute("SELECT key FROM session ORDER BY key")]
    except UNREADABLE:
        return [key for key in range(1, _most(db) + 1) if _is_there(db, key)]


def _session_findings(
    db: sqlite3.Connection, key: int, counts: dict[int, int] | None
) -> SessionFindings:
    """The findings about a session's row and its own ticks."""
    found = SessionFindings(key, f"number {key}")
    try:
        _check_row(db, found)
        _check_ticks(db, found)
        if counts is not None and counts.get(key, 0) != found.ticks:
            raise JournalCorrupt(f"of its {counts.get(key, 0)} ticks {found.ticks} hang together")
    except (*UNREADABLE, JournalError, TypeError, ValueError, OverflowError) as error:
        found.problems.append(str(error))
    return found


# The file


def _tried(check: Callable[[], list[str]]) -> list[str]:
    try:
        return check()
    except (*UNREADABLE, TypeError, ValueError, OverflowError) as error:
        return [f"a part of the file cannot be read: {error}"]


def _integrity(db: sqlite3.Connection) -> list[str]:
    found = [text for (text,) in db.execute(f"PRAGMA integrity_check({SHOWN})")]
    return [] if found == ["ok"] else [" ".join(str(text).split()) for text in found]


def _graphs(db: sqlite3.Connection) -> list[str]:
    rows = db.execute("SELECT key, digest, document, includes FROM graph")
    return [
        f"graph {key} does not fit its checksum"
        for key, digest, document, includes in rows
        if graph_digest(document, includes) != digest
    ]


def _attachments(db: sqlite3.Connection) -> list[str]:
    return [
        f"the attachment {digest.hex()[:12]} does not fit its checksum"
        for digest, content in db.execute("SELECT digest, content FROM attachment")
        if sha256(content).digest() != digest
    ]


def _misfits(db: sqlite3.Connection, query: str, what: str) -> list[str]:
    return [
        f"a {what} does not fit its checksum"
        for checksum, *fields in db.execute(query)
        if checksum is not None and checksum != checksums.of(*fields)
    ]


def _found(db: sqlite3.Connection, query: str, what: str) -> list[str]:
    return [what] if db.execute(query).fetchone() else []


def _most(db: sqlite3.Connection) -> int:
    try:
        row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'session'").fetchone()
        (heads,) = db.execute("SELECT coalesce(max(session), 0) FROM head").fetchone()
    except UNREADABLE:
        return 0
    return max(int(row[0]) if row else 0, int(heads))


def _is_there(db: sqlite3.Connection, key: int) -> bool:
    try:
        return db.execute("SELECT 1 FROM head WHERE session = ?", (key,)).fetchone() is not None
    except UNREADABLE:
        return True  # to be named, at least


# One session


def _check_row(db: sqlite3.Connection, found: SessionFindings) -> None:
    row = db.execute("SELECT id FROM session WHERE key = ?", (found.key,)).fetchone()
    if row is None:
        raise JournalCorrupt("its row is missing")
    found.id = str(row[0])
    if rows.one(db, found.id) is None:
        raise JournalCorrupt("its row is not found by its id")


def _check_ticks(db: sqlite3.Connection, found: SessionFindings) -> None:
    """Follow the ticks back from the last, and the checksums with them."""
    (first, length, last) = db.execute(
        "SELECT parent_length, length, last FROM session JOIN extent ON session = key "
        "WHERE key = ?",
        (found.key,),
    ).fetchone()
    expected = length - 1
    after: tuple[int, bytes, int | None] | None = None
    for session, n, record, checksum in db.execute(_TICKS, (last,)):
        if session != found.key or n != expected:
            raise JournalCorrupt(f"where its tick {expected} should be is another")
        if after is not None:
            _check_chain(found, after, checksum)
        after = (n, record, checksum)
        expected -= 1
        found.ticks += 1
        found.unsealed += checksum is None
    if after is not None:
        _check_chain(found, after, None)
    if expected != first - 1:
        raise JournalCorrupt(f"its tick {expected} is missing")


def _check_chain(
    found: SessionFindings, after: tuple[int, bytes, int | None], before: int | None
) -> None:
    """Whether a tick's checksum fits its record and the checksum before it."""
    n, record, checksum = after
    if checksum is None:
        if before is not None:
            found.problems.append(f"its tick {n} has no checksum, and the one before it has")
        return
    start = checksums.first(found.key) if before is None else before
    if checksum != checksums.chained(start, record):
        found.problems.append(f"its tick {n} does not fit its checksum")
