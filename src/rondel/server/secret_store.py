"""Secrets of the server: kept, put where graphs find them, and never given back."""

from __future__ import annotations

import os
import re

from rondel.errors import CallError
from rondel.server.server_database import ServerDatabase

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
RESERVED = re.compile(r"PATH|HOME|LD_.*|PYTHON.*|RONDEL_.*", re.IGNORECASE)
"""Variables that steer programs, and are nobody's secret."""


class Secrets:
    """Keeps secrets, and puts them where graphs find them: into the process's environment."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def open(self) -> None:
        """Put all of them there."""
        for name, value in self._database.rows("SELECT name, value FROM secret"):
            os.environ[str(name)] = str(value)

    @property
    def names(self) -> list[str]:
        """What there is."""
        return [str(row[0]) for row in self._database.rows("SELECT name FROM secret ORDER BY name")]

    def put(self, name: str, value: str) -> None:
        """Keep a secret, or change it."""
        if not NAME.fullmatch(name) or RESERVED.fullmatch(name):
            raise CallError(f"a secret cannot be named {name!r}; use letters, digits and _")
        if "\0" in value:
            raise CallError("a secret cannot hold the character NUL")
        with self._database.write() as db:
            db.execute(
                "INSERT INTO secret VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )
        os.environ[name] = value

    def delete(self, name: str) -> bool:
        """Forget a secret; False if there was none."""
        with self._database.write() as db:
            gone = db.execute("DELETE FROM secret WHERE name = ?", (name,)).rowcount
        if gone:
            os.environ.pop(name, None)
        return bool(gone)
