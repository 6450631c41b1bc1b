"""Copies of a SQLite journal: one to keep, of a file in use, and one to read a file that may not be
written, in place or brought up to date."""

from __future__ import annotations

import os
import shutil
import sqlite3
import weakref
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from rondel.errors import CallError, JournalError
from rondel.journal.sqlite.log_damage import beside

TRIES = 5
"""How often the copy is tried again if the file changes meanwhile."""


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


def may_write(file: Path) -> bool:
    """Whether this process may write the file, and the log beside it."""
    return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)


class PrivateCopy:
    """A copy of a file and its log in a temporary folder, removed with this object."""

    def __init__(self, file: Path) -> None:
        folder = mkdtemp(prefix="rondel-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder) / file.name
        for _ in range(TRIES):
            before = _stamps(file)
            self._take(file)
            if _stamps(file) == before:
                return

    def _take(self, file: Path) -> None:
        for source, target in ((beside(file), beside(self.path)), (file, self.path)):
            if source.exists():
                shutil.copyfile(source, target)
            else:
                target.unlink(missing_ok=True)


def _stamps(file: Path) -> list[tuple[int, int]]:
    """Figures that change with every write."""
    found = [path.stat() for path in (file, beside(file)) if path.exists()]
    return [(stat.st_size, stat.st_mtime_ns) for stat in found]
