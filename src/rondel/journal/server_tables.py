"""What servers keep besides sessions: tokens, logins, secrets, webhooks, answers, insights.

A few small tables. They are asked in words that SQLite and PostgreSQL read alike: a table is
`rondel.NAME`, a value is `?`, and nothing else in a statement is either of these marks.
"""

from __future__ import annotations

from typing import Any, Protocol

Row = tuple[Any, ...]
Statement = tuple[Any, ...]
"""A text, and the values that its marks stand for."""


class ServerTables(Protocol):
    """The tables, in a file of one server or in the database that several servers share."""

    tells: bool
    """Whether the database itself notes in `rondel.news` what becomes of sessions."""

    def rows(self, query: str, *values: object) -> list[Row]:
        """What a query finds."""
        ...

    def write(self, *statements: Statement) -> list[int]:
        """Carry out all statements or none; how many rows each has changed."""
        ...

    def version(self) -> int:
        """Another number once another process may have written."""
        ...

    def now(self) -> float:
        """The time by the clock that all servers go by, in seconds since the epoch."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
