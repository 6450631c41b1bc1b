"""Finds damage in the write-ahead log beside a file.

SQLite takes the first page with a wrong checksum for the end of the log, as it is after a crash in
the middle of a write. If that page was damaged later, SQLite silently drops all commits behind it,
and the next write overwrites them. The two cases differ in what follows: behind a damaged page
there are commits whose checksums fit together.

Behind the very last commit of a log there is nothing: if it is damaged, it looks as if it was never
made.
"""

from __future__ import annotations

import sqlite3
import struct
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from rondel.journal.process import is_alive

HEAD = 32
"""Bytes before the first page."""

FRAME_HEAD = 24
"""Bytes before each page: number, pages of the file if it commits, two salts, two checksums."""

LITTLE, BIG = 0x377F0682, 0x377F0683
"""The first bytes of a log; they say in which byte order its checksums are computed."""

AGAIN = 0.05
"""Seconds after which a log that looks damaged is read again: a process may be writing it."""

Sums = tuple[int, int]


class LogDamage(NamedTuple):
    """Where a log is damaged, and how much of it SQLite would drop."""

    page: int
    pages: int

    def __str__(self) -> str:
        return (
            f"its log is damaged at page {self.page} of {self.pages}, and what was committed "
            "behind that page would be lost"
        )


def beside(file: Path) -> Path:
    """The path of a file's write-ahead log."""
    return file.with_name(file.name + "-wal")


def log_damage(file: Path) -> LogDamage | None:
    """Where the log beside a file is damaged; None while some process has the file open."""
    log = beside(file)
    if not log.exists() or _is_open(file):
        return None
    found = _damage(log)
    if found is None:
        return None
    time.sleep(AGAIN)
    return found if _damage(log) == found else None


def _is_open(file: Path) -> bool:
    """Whether a living process is named in the file, read without a lock and without the log."""
    with suppress(sqlite3.Error):
        address = f"file:{quote(str(file))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as db:
            return any(is_alive(name) for (name,) in db.execute("SELECT process FROM opening"))
    return False


def _damage(log: Path) -> LogDamage | None:
    try:
        content = log.read_bytes()
    except OSError:
        return None
    if len(content) < HEAD:
        return None
    head = struct.unpack_from(">8I", content)
    order = "<" if head[0] == LITTLE else ">"
    if head[0] in (LITTLE, BIG) and _summed(order, content[: HEAD - 8], (0, 0)) == head[6:8]:
        return _in_pages(content, head[2], order, head[4:6], head[6:8])
    return _behind_a_damaged_head(content)


class _Page(NamedTuple):
    number: int
    commits: bool
    salts: tuple[int, int]
    sums: Sums
    fits: bool
    """Whether its checksums fit its content and the page before it."""


def _in_pages(
    content: bytes, size: int, order: str, salts: tuple[int, ...], sums: tuple[int, ...]
) -> LogDamage | None:
    """The first page that SQLite would not read, if a commit of the same log is behind it."""
    first_bad: int | None = None
    for page in _pages(content, size, order, (sums[0], sums[1])):
        of_this_log = page.salts == salts
        if first_bad is None and not (of_this_log and page.fits):
            first_bad = page.number
        elif first_bad is not None and of_this_log and page.fits and page.commits:
            return LogDamage(first_bad, _last_of(content, size, salts))
    return None


def _behind_a_damaged_head(content: bytes) -> LogDamage | None:
    """The damage of a log whose first bytes are wrong, if the commits behind them fit together."""
    for size in (1024, 4096, 512, 2048, 8192, 16384, 32768, 65536):
        for order in "<>":
            pages = _pages(content, size, order, (0, 0))
            next(pages, None)  # the first checksum is in the damaged head
            if any(page.fits and page.commits for page in pages):
                return LogDamage(1, (len(content) - HEAD) // (FRAME_HEAD + size))
    return None


def _pages(content: bytes, size: int, order: str, before: Sums) -> Iterator[_Page]:
    step = FRAME_HEAD + size
    for number, start in enumerate(range(HEAD, len(content) - step + 1, step), 1):
        _, total, salt, other, first, second = struct.unpack_from(">6I", content, start)
        covered = content[start : start + 8] + content[start + FRAME_HEAD : start + step]
        fits = _summed(order, covered, before) == (first, second)
        before = first, second
        yield _Page(number, total != 0, (salt, other), before, fits)


def _last_of(content: bytes, size: int, salts: tuple[int, ...]) -> int:
    """The number of the last page that belongs to the log with these salts."""
    step = FRAME_HEAD + size
    starts = range(HEAD, len(content) - step + 1, step)
    own = [n for n, s in enumerate(starts, 1) if struct.unpack_from(">2I", content, s + 8) == salts]
    return own[-1]


def _summed(order: str, content: bytes, before: Sums) -> Sums:
    """SQLite's checksum of these bytes, continued from the one before."""
    first, second = before
    numbers = iter(struct.unpack(f"{order}{len(content) // 4}I", content))
    for number in numbers:
        first = (first + number + second) & 0xFFFFFFFF
        second = (second + next(numbers) + first) & 0xFFFFFFFF
    return first, second
