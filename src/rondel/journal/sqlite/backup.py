"""Copies of a SQLite journal that is in use."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from rondel.errors import CallError, JournalError


def demand_new(target: Path) -> None:
    """Raise if the target exists."""
    if target.exists():
        raise CallError(f"{target} exists already; choose another name")
    if not target.parent.is_dir():
        raise CallError(f"{target} cannot be written: there is no folder {target.parent}")


def copy_to(db: sqlite3.Connection, target: Path) -> None:
    """Copy what the connection sees to a new file, which appears only when it is complete."""
    demand_new(target)
    part = target.with_name(target.name + ".part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        copy = sqlite3.connect(part, isolation_level=None)
        try:
            db.backup(copy)
            copy.execute("DELETE FROM opening")  # nobody has the copy open
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            copy.close()
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        for leftover in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)
        raise JournalError(f"the copy {target} cannot be written: {error}") from error
