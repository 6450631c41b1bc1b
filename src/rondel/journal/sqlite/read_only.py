"""Reads a file that may not be written: in place, or as a copy that is brought up to date."""

from __future__ import annotations

import os
import shutil
import weakref
from pathlib import Path
from tempfile import mkdtemp

from rondel.journal.sqlite.log_damage import beside

TRIES = 5
"""How often the copy is tried again if the file changes meanwhile."""


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
