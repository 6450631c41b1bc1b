"""Where the ticks of a session end."""

from __future__ import annotations

from rondel.errors import RondelError


class Head:
    """Where a session's ticks end, as far as this process has written them."""

    __slots__ = ("error", "id", "key", "last", "length", "owner", "stored", "until")

    def __init__(self, id: str, key: int = 0, length: int = 0, last: int | None = None) -> None:
        self.id = id
        self.key = key
        self.length = length
        """How many ticks it has, with those of the transaction under way."""
        self.last = last
        """The place of the last of them."""
        self.stored = length
        """How many it has without those of the transaction under way."""
        self.owner: str | None = None
        self.until = 0.0
        """When the lease ends that the session was made with, until somebody has asked for it."""
        self.error: RondelError | None = None
        """Why the session takes no more writes, until it is acquired again."""

    def place(self, length: int, last: int | None) -> None:
        """Its ticks end there."""
        self.length = self.stored = length
        self.last = last
