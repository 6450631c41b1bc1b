"""Where a session's ticks end, and a change of it on its way into the file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable

from rondel.errors import RondelError
from rondel.journal.sqlite.checksums import first


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
