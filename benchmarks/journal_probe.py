"""What a durable tick costs, beside the bare loop with one commit for each step.

    python -m benchmarks.journal_probe [normal|full|off] [CHUNKS]

The bare loop and the store take turns, a chunk each, so that a noisy machine is noisy for both;
what counts is the ratio. `thread` is the store made to commit in its thread always: the reason
why it commits in place while commits are fast.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Protocol

from rondel.engine.message import Message
from rondel.engine.ticks import Finished
from rondel.journal import writer
from rondel.journal.database import SYNCHRONOUS
from rondel.journal.sqlite import SqliteStore
from rondel.journal.store import SessionRow

TEXT = "x" * 70
NEVER_IN_PLACE = -1.0


class Contender(Protocol):
    """Somebody who writes steps."""

    path: Path

    async def write(self, steps: int) -> None: ...

    def close(self) -> None: ...


class Bare:
    """The floor: an insert and a commit for each step."""

    def __init__(self, path: Path, durability: str) -> None:
        self.path = path
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}")
        self._db.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, n, record)")
        self._n = 0

    async def write(self, steps: int) -> None:
        for _ in range(steps):
            self._n += 1
            record = json.dumps({"n": self._n, "node": "writer", "at": time.time(), "text": TEXT})
            self._db.execute("INSERT INTO log (n, record) VALUES (?, ?)", (self._n, record))
            self._db.commit()

    def close(self) -> None:
        self._db.close()


class Stored:
    """The store, with some sessions that append side by side."""

    def __init__(self, path: Path, durability: str, sessions: int, slow: float) -> None:
        self.path = path
        self._slow = slow
        self._store = SqliteStore(path, durability)
        self._names = [f"s{n}" for n in range(sessions)]
        for name in self._names:
            self._store.create(SessionRow(name, "probe", {}), "probe", 3600)

    async def write(self, steps: int) -> None:
        writer.SLOW = self._slow
        each = steps // len(self._names)
        await asyncio.gather(*(self._append(name, each) for name in self._names))

    async def _append(self, name: str, steps: int) -> None:
        for n in range(steps):
            tick = Finished(time.time(), n, [Message(TEXT, source="writer")], [0], took=0.00001)
            durable = self._store.append(name, tick)
            if durable is not None:
                await durable

    def close(self) -> None:
        self._store.close()


async def race(contenders: dict[str, Contender], chunks: int, steps: int) -> dict[str, list[float]]:
    """Microseconds for each step, by contender, a figure a chunk."""
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(chunks):
        for name, contender in contenders.items():
            began = time.perf_counter()
            await contender.write(steps)
            figures[name].append((time.perf_counter() - began) / steps * 1e6)
    return figures


def main(durability: str, chunks: int) -> None:
    """Print one table."""
    steps = 200 if durability == "full" else 500
    fast = writer.SLOW
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        contenders: dict[str, Contender] = {
            "bare loop": Bare(place / "bare.db", durability),
            "1 session": Stored(place / "one.db", durability, 1, fast),
            "1 session, thread": Stored(place / "one_thread.db", durability, 1, NEVER_IN_PLACE),
            "100 sessions": Stored(place / "many.db", durability, 100, fast),
            "100 sessions, thread": Stored(
                place / "many_thread.db", durability, 100, NEVER_IN_PLACE
            ),
        }
        figures = asyncio.run(race(contenders, chunks, steps))
        for contender in contenders.values():
            contender.close()
        floor = figures["bare loop"]
        print(f"{durability:24}{'best':>10}{'median':>10}{'x floor':>10}{'bytes/step':>12}")
        for name, values in figures.items():
            size = contenders[name].path.stat().st_size / (chunks * steps)
            ratio = statistics.median(values) / statistics.median(floor)
            middle = statistics.median(values)
            print(f"{name:24}{min(values):10.1f}{middle:10.1f}{ratio:10.2f}{size:12.0f}")


if __name__ == "__main__":
    main(
        sys.argv[1] if len(sys.argv) > 1 else "normal",
        int(sys.argv[2]) if len(sys.argv) > 2 else 30,
    )
