"""Where the ticks of a session end."""

from __future__ import annotations

from rondel.errors import RondelError
from rondel.journal.sums import first


class Head:
    """Where a session's ticks end, as far as this process has written them."""

    __slots__ = ("error", "id", "key", "last", "length", "owner", "stored", "sum", "until")

    def __init__(self, id: str, key: int = 0) -> None:
        self.id = id
        self.key = key
        self.length = 0
        """How many ticks it has, with those of the transaction under way."""
        self.last: int | None = None
        """The place of the last of them."""
        self.sum = 0
        """The checksum of the last of them, or what the chain begins with."""
        self.stored = 0
        """How many it has without those of the transaction under way."""
        self.owner: str | None = None
        self.until = 0.0
        """When the lease ends that the session was made with, until somebody has asked for it."""
        self.error: RondelError | None = None
        """Why the session takes no more writes, until it is acquired again."""

    def place(self, length: int, last: int | None, sum: int | None) -> None:
        """Its ticks end there."""
        self.length = self.stored = length
        self.last = last
        self.sum = first(self.key) if sum is None else sum
