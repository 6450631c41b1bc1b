"""How many durable steps a second one session makes, and a hundred on the same store.

Durability is full: nothing goes on before its past is on the disk, so steps wait for commits, and
sessions that wait together share one.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.contenders.rondel import loop_graph
from benchmarks.probe import Figures, answer
from rondel import Engine, Graph

PASSES = 3
SESSIONS = 100


async def pace(engine: Engine, graph: Graph, sessions: int, rounds: int) -> float:
    """Steps in a second."""
    began = time.perf_counter()
    await asyncio.gather(*(engine.run(graph, "task") for _ in range(sessions)))
    return 3 * rounds * sessions / (time.perf_counter() - began)


async def race(rounds: int) -> Figures:
    """The best pace of one session and of many, taking turns."""
    graph = loop_graph(rounds)
    best = {"one": 0.0, "hundred": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(Path(folder) / "rondel.db", durability="full") as engine:
            await engine.run(graph, "warm up")
            for _ in range(PASSES):
                best["one"] = max(best["one"], await pace(engine, graph, 1, rounds))
                best["hundred"] = max(best["hundred"], await pace(engine, graph, SESSIONS, rounds))
    return best


if __name__ == "__main__":
    answer(lambda rounds: asyncio.run(race(rounds)), 30)
