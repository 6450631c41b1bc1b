"""A batch of changes as SQL: one statement appends for any number of sessions.

The statement is a compare-and-swap on where each session ends and who drives it. What depends on
it (ticks, status, answered letters) is written for those sessions alone that passed. Most batches
are one tick of one session, for which there is a shorter one: it takes the server a quarter of the
time (0.04 ms for 0.18, where a bare INSERT takes 0.03).
"""

from __future__ import annotations

from typing import Any

from rondel.errors import JournalError, RondelError, UnknownSession
from rondel.journal.clock import elapsed
from rondel.journal.postgres.change import (
    Change,
    NewSession,
    PostgresHead,
    SessionChanges,
    moves_of,
)
from rondel.journal.postgres.database import Connection, stored, told
from rondel.journal.rules import check_fork, lease_lost

_APPEND = """
WITH given AS (
    SELECT * FROM unnest(
        %(keys)s::bigint[], %(from)s::bigint[], %(to)s::bigint[], %(owners)s::text[],
        %(statuses)s::text[], %(reasons)s::text[], %(dues)s::double precision[]
    ) AS given (session, before, after, owner, status, reason, due)
), moved AS (
    UPDATE rondel.head h SET length = given.after FROM given
    WHERE h.session = given.session AND h.length = given.before
    AND h.owner IS NOT DISTINCT FROM given.owner
    RETURNING h.session
), ticks AS (
    INSERT INTO rondel.tick (session, n, record)
    SELECT t.session, t.n, t.record FROM unnest(
        %(tick_keys)s::bigint[], %(numbers)s::bigint[], %(records)s::bytea[]
    ) AS t (session, n, record) JOIN moved ON moved.session = t.session
), statuses AS (
    UPDATE rondel.session s
    SET status = given.status, reason = given.reason, due = given.due, updated_at = rondel.now()
    FROM given JOIN moved ON moved.session = given.session
    WHERE s.key = given.session AND given.status IS NOT NULL
), letters AS (
    UPDATE rondel.letter l SET tick = r.tick, replied_at = rondel.now()
    FROM unnest(%(letters)s::bigint[], %(replies)s::bigint[]) AS r (number, tick), moved
    WHERE l.number = r.number AND l.session = moved.session AND l.replied_at IS NULL
)
SELECT session FROM moved
"""

_STEP = """
WITH moved AS (
    UPDATE rondel.head SET length = %(n)s::bigint + 1
    WHERE session = %(key)s::bigint AND length = %(n)s::bigint
    AND owner IS NOT DISTINCT FROM %(owner)s::text
    RETURNING session
)
INSERT INTO rondel.tick (session, n, record)
SELECT session, %(n)s::bigint, %(record)s::bytea FROM moved
RETURNING session
"""

_FOUND = """
SELECT h.session, h.length, h.owner,
    (SELECT record FROM rondel.tick WHERE session = h.session AND n = h.length - 1)
FROM rondel.head h WHERE h.session = ANY(%s)
"""

_GRAPH = """
INSERT INTO rondel.graph (digest, document, includes) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
"""

_CREATE = """
WITH parent AS (
    SELECT s.key, h.length FROM rondel.session s JOIN rondel.head h ON h.session = s.key
    WHERE s.id = %(parent)s
), made AS (
    INSERT INTO rondel.session (id, graph, graph_id, inputs, labels, status, reason,
        created_at, updated_at, due, parent, parent_length)
    SELECT %(id)s, (SELECT key FROM rondel.graph WHERE digest = %(digest)s), %(graph_id)s,
        %(inputs)s, %(labels)s, %(status)s, %(reason)s, time.made,
        coalesce(%(updated_at)s, time.made), %(due)s::double precision,
        (SELECT key FROM parent), %(parent_length)s
    FROM (SELECT coalesce(%(created_at)s, rondel.now()) AS made) time
    WHERE %(parent)s::text IS NULL
    OR EXISTS (SELECT 1 FROM parent WHERE length >= %(parent_length)s)
    ON CONFLICT (id) DO NOTHING
    RETURNING key
), headed AS (
    INSERT INTO rondel.head (session, length, owner, until)
    SELECT key, %(parent_length)s, %(owner)s::text, rondel.now() + %(ttl)s FROM made
), used AS (
    INSERT INTO rondel.attachment_use (session, digest)
    SELECT DISTINCT made.key, digest FROM made, unnest(%(attached)s::bytea[]) AS digest
), freed AS (
    DELETE FROM rondel.attachment_hold
    WHERE digest = ANY(%(attached)s::bytea[]) AND EXISTS (SELECT 1 FROM made)
)
SELECT (SELECT key FROM made), (SELECT length FROM parent),
    (SELECT key FROM rondel.session WHERE id = %(id)s)
"""

_RELEASE = """
UPDATE rondel.head h SET owner = NULL, until = NULL
FROM unnest(%s::bigint[], %s::text[]) AS given (session, owner)
WHERE h.session = given.session AND h.owner = given.owner
"""

_SNAPSHOT = """
INSERT INTO rondel.snapshot (session, n, state) VALUES (%s, %s, %s)
ON CONFLICT (session, n) DO UPDATE SET state = excluded.state
"""


def write(db: Connection, batch: list[Change], known: set[bytes], again: bool) -> None:
    """Write the batch in one transaction; each change has its error or is durable.

    `known` are the graphs that are there. With `again`, an earlier try may have succeeded.
    """
    births = [(change, change.birth) for change in batch if change.birth is not None]
    snapshots = [(change, change.snapshot) for change in batch if change.snapshot is not None]
    releases = [change for change in batch if change.release is not None]
    if not births and not snapshots and not releases:
        moves = moves_of(batch)
        _append(db, moves, again)
    else:
        with db.pipeline(), db.transaction():
            _create(db, births, known, again)
            moves = moves_of(batch)
            _append(db, moves, again)
            for change, snapshot in snapshots:
                if change.error is None:
                    db.execute(_SNAPSHOT, (change.head.key, snapshot.n, snapshot.state))
            _release(db, releases)
        known.update(birth.digest for _, birth in births)
    for move in moves.values():
        if move.head.error is None:
            move.head.length = move.length


def _append(db: Connection, moves: dict[int, SessionChanges], again: bool) -> None:
    if not moves:
        return
    found = _swap(db, moves)
    if len(found) == len(moves):
        return
    lost = moves.keys() - {key for (key,) in found}
    rows = {key: rest for key, *rest in db.execute(_FOUND, (list(lost),), binary=True)}
    for key in lost:
        move, row = moves[key], rows.get(key)
        if not (again and _is_there(move, row)):
            head = move.head
            now = None if row is None else (row[0], row[1] and told(row[1]))
            move.refuse(lease_lost(head.id, head.length, head.owner, now))


def _swap(db: Connection, moves: dict[int, SessionChanges]) -> list[tuple[Any, ...]]:
    """Append what they come to; the keys of the sessions that it was written for."""
    if len(moves) == 1:
        ((key, move),) = moves.items()
        if len(move.records) == 1 and move.status is None and not move.letters:
            head = move.head
            step = {"key": key, "n": head.length, "owner": _owner(head), "record": move.records[0]}
            return db.execute(_STEP, step).fetchall()
    return db.execute(_APPEND, _given(moves)).fetchall()


def _given(moves: dict[int, SessionChanges]) -> dict[str, list[Any]]:
    every = list(moves.values())
    ticks = [
        (key, move.head.length + place, record)
        for key, move in moves.items()
        for place, record in enumerate(move.records)
    ]
    return {
        "keys": list(moves),
        "from": [move.head.length for move in every],
        "to": [move.length for move in every],
        "owners": [_owner(move.head) for move in every],
        "statuses": [move.status for move in every],
        "reasons": [stored(move.reason) for move in every],
        "dues": [move.due for move in every],
        "tick_keys": [key for key, _, _ in ticks],
        "numbers": [number for _, number, _ in ticks],
        "records": [record for _, _, record in ticks],
        "letters": [letter for move in every for letter in move.letters],
        "replies": [tick for move in every for tick in move.letters.values()],
    }


def _is_there(move: SessionChanges, row: list[Any] | None) -> bool:
    """Whether it was written by a try whose end nobody heard of."""
    if row is None or not move.records:
        return False
    length, owner, record = row
    return (length, owner, record) == (move.length, _owner(move.head), move.records[-1])


def _create(
    db: Connection, births: list[tuple[Change, NewSession]], known: set[bytes], again: bool
) -> None:
    began = elapsed()
    made = []
    for change, birth in births:
        if birth.digest not in known:
            db.execute(_GRAPH, (birth.digest, birth.document, birth.includes))
        made.append((change, birth, db.execute(_CREATE, _fields(change, birth))))
    for change, birth, cursor in made:
        key, parent_length, older = cursor.fetchone() or (None, None, None)
        if key is None and again:
            key = older
        if key is None:
            change.error = change.head.error = _refusal(birth, parent_length)
            continue
        head = change.head
        head.key, head.length = key, birth.row.parent_length
        is_pending = (birth.row.status, birth.row.due) == ("pending", None)
        if head.owner is not None:
            head.made, head.until = began if is_pending else None, began + birth.ttl


def _fields(change: Change, birth: NewSession) -> dict[str, Any]:
    row = birth.row
    return {
        "id": stored(row.id),
        "digest": birth.digest,
        "graph_id": stored(row.graph_id),
        "inputs": birth.inputs,
        "labels": birth.labels,
        "status": row.status,
        "reason": stored(row.reason),
        "created_at": row.created_at or None,
        "updated_at": row.updated_at or None,
        "due": row.due,
        "parent": None if row.parent is None else stored(row.parent),
        "parent_length": row.parent_length,
        "owner": _owner(change.head),
        "ttl": birth.ttl if change.head.owner is not None else None,
        "attached": birth.attached,
    }


def _owner(head: PostgresHead) -> str | None:
    return None if head.owner is None else stored(head.owner)


def _refusal(birth: NewSession, parent_length: int | None) -> RondelError:
    row = birth.row
    if row.parent is not None:
        if parent_length is None:
            return UnknownSession(f"there is no session {row.parent!r}")
        try:
            check_fork(row, parent_length)
        except RondelError as error:
            return error
    return JournalError(f"there is a session {row.id!r} already")


def _release(db: Connection, releases: list[Change]) -> None:
    if releases:
        keys = [change.head.key for change in releases]
        db.execute(_RELEASE, (keys, [stored(change.release or "") for change in releases]))
