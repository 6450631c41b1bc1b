"""A server that demands tokens, and somebody of each kind who has one."""

from __future__ import annotations

from pathlib import Path

from tests.unit.server.running import Running

TOKENS = {
    "root": ("admin", None),
    "anna": ("admin", ["a"]),
    "olaf": ("operator", ["a"]),
    "vera": ("viewer", ["a"]),
    "bert": ("admin", ["b"]),
}


class Guarded:
    """A server that demands tokens, and one of each kind."""

    def __init__(self, server: Running, tokens: dict[str, str], database: Path) -> None:
        self.server = server
        self.tokens = tokens
        self.database = database

    def __getattr__(self, name: str) -> Running:
        return self.server.as_(self.tokens[name])
