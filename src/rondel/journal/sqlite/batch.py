"""Writes on their way into the file; a batch of them is one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable

from rondel.errors import RondelError
from rondel.journal.rules import lease_lost
from rondel.journal.sqlite.checksums import chained, first
from rondel.journal.sqlite.database import PAGE

_TAIL = "SELECT seq, session, n FROM tick ORDER BY seq DESC LIMIT 1"
_SETTLE = "UPDATE head SET length = ?, last = ? WHERE session = ? AND length < ?"
_MOVE = "UPDATE head SET length = ?, last = ? WHERE session = ? AND length = ? AND owner IS ?"
_INSERT = "INSERT INTO tick (seq, session, n, prev, record, sum) VALUES "
_FIELDS = 6
_INSERTS = [(rows, _INSERT + ", ".join(["(?, ?, ?, ?, ?, ?)"] * rows)) for rows in (64, 16, 4, 1)]
"""One statement for many rows takes half the time of one for each row."""

ENDS = "SELECT length, last, (SELECT sum FROM tick WHERE seq = last)"
WHERE_IT_ENDS = " FROM extent WHERE session = ?"
"""Where the ticks of a session end, and the checksum there."""


class SqliteHead:
    """Where a session's ticks end, as far as this process has written them."""

    __slots__ = ("error", "id", "key", "last", "length", "owner", "stored", "sum", "until")

    def __init__(self, id: str, key: int = 0) -> None:
        self.id = id
        self.key = key
        self.length = 0
        """How many ticks it has, with those of the transaction under way."""
        self.last: int | None = None
        """The key of the last of them."""
        self.sum = 0
        """The checksum of the last of them, or the first value of the chain."""
        self.stored = 0
        """How many it has without those of the transaction under way."""
        self.owner: str | None = None
        self.until = 0.0
        """When the lease of a session ends that was created pending, until `acquire` takes it or
        the status changes."""
        self.error: RondelError | None = None
        """Why the session takes no more writes, until it is acquired again."""

    def place(self, length: int, last: int | None, sum: int | None) -> None:
        """Set where its ticks end."""
        self.length = self.stored = length
        self.last = last
        self.sum = first(self.key) if sum is None else sum


class Write:
    """A tick or another change, and the future of the caller that waits until it is durable."""

    __slots__ = ("alone", "also", "deadline", "error", "future", "head", "record")

    def __init__(
        self,
        head: SqliteHead,
        record: bytes | None,
        also: Callable[[sqlite3.Connection], object] | None = None,
        deadline: float | None = None,
        *,
        alone: bool = False,
    ) -> None:
        self.head = head
        self.record = record
        self.also = also
        self.deadline = deadline
        """When it is given up if another process still holds the lock, by the monotonic clock."""
        self.alone = alone
        """Whether it is written in a transaction of its own, after all earlier writes."""
        self.error: RondelError | None = None
        self.future: asyncio.Future[None] | None = None
        """None if nobody can wait for it."""


def write_batch(db: sqlite3.Connection, batch: list[Write]) -> tuple[list[SqliteHead], int]:
    """Put the batch into the open transaction, without the writes of sessions that were lost.

    Returns the sessions with new ticks, and roughly how many pages they take.
    """
    db.execute("SAVEPOINT batch")
    seq = _settle_last(db)
    heads: list[SqliteHead] = []
    values: list[int | bytearray | None] = []
    size = 0
    for write in batch:
        head, record = write.head, write.record
        if head.error is not None or write.also is not None:
            _do_other_change(db, write)
        if record is None or write.error is not None:
            continue
        length = head.length
        if length == head.stored:
            heads.append(head)
        seq += 1
        head.sum = chained(head.sum, record)
        values += (seq, head.key, length, head.last, bytearray(record), head.sum)
        head.length = length + 1
        head.last = seq
        size += len(record)
    moves = [(head.length, head.last, head.key, head.stored, head.owner) for head in heads]
    if heads and db.executemany(_MOVE, moves).rowcount != len(heads):
        return _apply_without_losers(db, batch, heads)
    _insert(db, values)
    return heads, 2 + len(heads) // 16 + size // PAGE


def _insert(db: sqlite3.Connection, values: list[int | bytearray | None]) -> None:
    """Add the rows of ticks whose fields these are, one after the other."""
    start = 0
    for rows, statement in _INSERTS:
        width = rows * _FIELDS
        while len(values) - start >= width:
            db.execute(statement, values[start : start + width])
            start += width


def _settle_last(db: sqlite3.Connection) -> int:
    """Bring the head of the file's last tick up to date, and return the tick's place."""
    row = db.execute(_TAIL).fetchone()
    if row is None:
        return 0
    seq, session, n = row
    db.execute(_SETTLE, (n + 1, seq, session, n + 1))
    return int(seq)


def _do_other_change(db: sqlite3.Connection, write: Write) -> None:
    """Make the change that comes with a tick or without one, unless it is refused."""
    if write.head.error is not None:
        write.error = write.head.error
    elif write.also is not None and write.error is None:
        try:
            write.also(db)
        except RondelError as error:
            write.error = error
            if not write.head.key:
                write.head.error = error


def _apply_without_losers(
    db: sqlite3.Connection, batch: list[Write], heads: list[SqliteHead]
) -> tuple[list[SqliteHead], int]:
    """Begin again without the sessions that another process has changed."""
    db.execute("ROLLBACK TO batch")
    for head in heads:
        row = db.execute(ENDS + ", owner" + WHERE_IT_ENDS, (head.key,)).fetchone()
        if row is None or (row[0], row[3]) != (head.stored, head.owner):
            found = None if row is None else (row[0], row[3])
            head.error = lease_lost(head.id, head.stored, head.owner, found)
        else:
            head.place(*row[:3])
    return write_batch(db, batch)
