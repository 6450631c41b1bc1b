"""`rondel bench`: what a step takes on this machine, in memory and in its database."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rondel.cli.database import database_of
from rondel.cli.doctor import how_built
from rondel.cli.language import words
from rondel.cli.options import AsDocument, Db
from rondel.cli.tables import document, print_table
from rondel.errors import RondelError
from rondel.sessions.engine import Engine
from rondel.sessions.graph import Graph
from rondel.sessions.session import Session
from rondel.sessions.stores import is_address

ROUNDS = 100
STEPS = 3 * ROUNDS + 1
LOOP = {
    "graph": {
        "id": "rondel-bench",
        "start": "Write",
        "nodes": [
            {"id": "Write", "type": "passthrough"},
            {"id": "Review", "type": "passthrough"},
            {"id": "Decide", "type": "loop", "config": {"max_rounds": ROUNDS}},
            {"id": "Done", "type": "passthrough"},
        ],
        "edges": [
            {"from": "Write", "to": "Review"},
            {"from": "Review", "to": "Decide"},
            {"from": "Decide", "to": "Write", "label": "continue"},
            {"from": "Decide", "to": "Done", "label": "exit"},
        ],
    }
}
"""A loop whose nodes do nothing, so that only the engine and its store take time."""

MANY = 100
"""How many sessions are run at once, beside one alone."""


class Measured(msgspec.Struct):
    """What steps took in one store."""

    store: str
    sessions: int
    """How many ran at once."""
    microseconds_per_step: float
    steps_per_second: int


def bench(
    seconds: Annotated[
        float, typer.Option(metavar="N", min=0.0, max=3600.0, help="How long each row is measured.")
    ] = 1.0,
    as_json: AsDocument = False,
    db: Db = None,
) -> int:
    """Measure what a step of a loop takes here beside what its nodes take: theirs do nothing.

    A SQLite database is not touched: a file beside it is used, and deleted. In PostgreSQL the
    sessions are deleted afterwards.
    """
    found = asyncio.run(_measured(database_of(db), seconds))
    if as_json:
        print(document(found))
        return 0
    rows = [
        (
            words(one.store),
            str(one.sessions),
            f"{one.microseconds_per_step:,.1f} µs",
            f"{one.steps_per_second:,}",
        )
        for one in found
    ]
    right = ("AT ONCE", "A STEP", "STEPS/S")
    print_table(("STORE", *right), rows, right=right)
    print(f"\nrondel: {words(how_built())}")
    return 0


async def _measured(db: str | None, seconds: float) -> list[Measured]:
    found = []
    for place in dict.fromkeys((None, db)):
        with _beside(place) as used:
            async with Engine(used) as engine:
                for at_once in (1, MANY):
                    took = await _seconds_per_step(engine, at_once, seconds)
                    found.append(
                        Measured(_kind(place), at_once, round(took * 1e6, 3), round(1 / took))
                    )
    return found


def _kind(place: str | None) -> str:
    if place is None:
        return "memory"
    return "PostgreSQL" if is_address(place) else "SQLite"


@contextmanager
def _beside(place: str | None) -> Iterator[str | Path | None]:
    """A new file on the disk of that one; a server and memory are used as they are."""
    if place is None or is_address(place):
        yield place
        return
    folder = Path(place).expanduser().absolute().parent
    while not folder.is_dir():
        folder = folder.parent
    with tempfile.TemporaryDirectory(prefix="rondel-bench-", dir=folder) as beside:
        yield Path(beside) / "rondel.db"


async def _seconds_per_step(engine: Engine, at_once: int, seconds: float) -> float:
    """The best of as many runs as fit into the time, after one to warm up."""
    graph = Graph.loads(msgspec.json.encode(LOOP).decode())
    await _run(engine, graph, 1)
    best = await _run(engine, graph, at_once)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        best = min(best, await _run(engine, graph, at_once))
    return best


async def _run(engine: Engine, graph: Graph, at_once: int) -> float:
    sessions: list[Session] = []
    began = time.perf_counter()
    try:
        for _ in range(at_once):
            sessions.append(await engine.start(graph))
        await asyncio.gather(*(session.result() for session in sessions))
        return (time.perf_counter() - began) / (at_once * STEPS)
    finally:
        for session in sessions:
            with suppress(RondelError):
                if not session.is_over:
                    await session.stop("rondel bench")
                engine.store.delete(session.id)
