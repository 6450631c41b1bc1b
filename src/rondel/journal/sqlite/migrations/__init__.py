"""The schema's history: numbered SQL files, applied in order, never changed once released.

A file's `PRAGMA user_version` is the number of the last migration it has had.
"""

from __future__ import annotations

from importlib import resources
from sqlite3 import complete_statement


def latest() -> int:
    """The schema version that this version of Rondel writes."""
    return max(_files())


def statements(version: int) -> list[str]:
    """The SQL that takes a file from the version before to this one."""
    found: list[str] = []
    part = ""
    for line in _files()[version].splitlines(keepends=True):
        part += line
        if complete_statement(part):
            found.append(part.strip())
            part = ""
    return found


def _files() -> dict[int, str]:
    folder = resources.files(__name__)
    return {
        int(entry.name.split("_", 1)[0]): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }
