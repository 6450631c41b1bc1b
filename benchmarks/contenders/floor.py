"""The floor: the same three functions called by a bare loop, with nothing between them.

The loop is a coroutine: to start asyncio takes a tenth of a millisecond, for every contender that
needs it, and is nobody's cost of a step. W3 is one SQLite row and one commit for each step,
synchronous NORMAL. W4 calls the branches in place. W5 is bare asyncio.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from benchmarks.measurement import Prepare, Run, in_loop, speak
from benchmarks.workload import LINE, PAUSE, ROUNDS, WIDTH

Told = dict[str, str | int]


def write() -> str:
    """What the first node says."""
    return "draft"


def review() -> str:
    """What the second node says."""
    return LINE


def judge(number: int, rounds: int) -> bool:
    """Whether the third node goes on."""
    return number < rounds


def loop(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def run() -> int:
        number = 1
        while True:
            write()
            review()
            if not judge(number, size):
                return number
            number += 1

    return in_loop(run)


def history(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def run() -> int:
        lines: list[str] = []
        while True:
            write()
            lines.append(review())
            if not judge(len(lines), size):
                return len(lines)

    return in_loop(run)


def durable(synchronous: str) -> Prepare:
    """The loop with a row and a commit for each step."""

    @contextmanager
    def prepare(size: int, folder: Path) -> Iterator[Run]:
        with closing(sqlite3.connect(folder / "floor.db")) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA synchronous = {synchronous}")
            db.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, record)")
            db.commit()
            yield lambda: _logged(db, size)

    return prepare


def _logged(db: sqlite3.Connection, size: int) -> int:
    def keep(node: str, text: str) -> None:
        record = json.dumps({"node": node, "at": time.time(), "text": text})
        db.execute("INSERT INTO log (record) VALUES (?)", (record,))
        db.commit()

    lines: list[str] = []
    while True:
        keep("write", write())
        lines.append(review())
        keep("review", lines[-1])
        goes_on = judge(len(lines), size)
        keep("judge", str(goes_on))
        if not goes_on:
            return len(lines)


def fan_out(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def run() -> int:
        joined, number = 0, 1
        while True:
            write()
            joined += len([review() for _ in range(WIDTH)])
            if not judge(number, size):
                return joined
            number += 1

    return in_loop(run)


def sessions(size: int, _folder: Path) -> AbstractContextManager[Run]:
    """Many loops at once, each node waiting."""

    async def node(call: Callable[[], object]) -> None:
        await asyncio.sleep(PAUSE)
        call()

    async def session() -> int:
        number = 1
        while True:
            await node(write)
            await node(review)
            await node(write)
            if not judge(number, ROUNDS):
                return number
            number += 1

    async def main() -> int:
        return sum(await asyncio.gather(*(session() for _ in range(size))))

    return in_loop(main)


@contextmanager
def stream(size: int, _folder: Path) -> Iterator[Run]:
    def told() -> Iterator[Told]:
        number = 1
        while True:
            for name, call in (("write", write), ("review", review), ("judge", write)):
                yield {"event": "started", "node": name, "round": number}
                call()
                yield {"event": "finished", "node": name, "round": number}
            if not judge(number, size):
                return
            number += 1

    yield lambda: sum(1 for _ in told())


WORKLOADS: dict[str, Prepare] = {
    "W1": loop,
    "W2": history,
    "W3": durable("NORMAL"),
    "W4": fan_out,
    "W5": sessions,
    "W6": stream,
}

if __name__ == "__main__":
    speak(WORKLOADS)
