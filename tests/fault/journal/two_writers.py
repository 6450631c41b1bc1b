"""Two processes that write to one file for a while, and how long the write-ahead log gets.

python -m tests.fault.journal.two_writers FILE SECONDS [TICKS_A_SECOND]
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from rondel.journal.sqlite.store import SqliteStore
from rondel.testing.journal_suite import done, row, tick

LOOK = 0.05


class Seen(NamedTuple):
    """What came of it."""

    longest_log: int
    file: int
    ticks: int


async def write(path: str, name: str, seconds: float, pace: float) -> None:
    """Append to a session of one's own, in bursts, until the time is over."""
    store = SqliteStore(path)
    await done(store.create(row(name), name, 60))
    began, n = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds:
        if n < passed * pace:
            for _ in range(20):
                await done(store.append(name, tick(n, "x" * 400)))
                n += 1
        await asyncio.sleep(0.001)
    store.close()


def watch(path: Path, seconds: float, pace: float, setup: str = "") -> Seen:
    """Let two processes write; `setup` is run in each before."""
    script = f"import asyncio\nfrom tests.fault.journal.two_writers import write\n{setup}\n"
    call = "asyncio.run(write({!r}, {!r}, {}, {}))"
    writers = [
        subprocess.Popen([sys.executable, "-c", script + call.format(str(path), *rest)])
        for rest in (("one", seconds, pace), ("two", seconds, pace))
    ]
    log, longest = path.with_name(path.name + "-wal"), 0
    while any(writer.poll() is None for writer in writers):
        if log.exists():
            longest = max(longest, log.stat().st_size)
        time.sleep(LOOK)
    assert [writer.returncode for writer in writers] == [0, 0]
    store = SqliteStore(path)
    ticks = sum(found.length for found in store.sessions().rows)
    store.close()
    return Seen(longest, path.stat().st_size, ticks)


if __name__ == "__main__":
    print(watch(Path(sys.argv[1]), float(sys.argv[2]), float((sys.argv[3:] or ["2000"])[0])))
