"""What sessions cost that wait for a person, and how fast they finish when all are answered."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from pathlib import Path

from benchmarks.measurement import resident
from benchmarks.probe import Figures, answer
from rondel import Engine, Graph

AT_ONCE = 100


def asking_graph() -> Graph:
    """One node that asks a person."""
    graph = Graph("ask")
    graph.add("Editor", "human", {"description": "good?"})
    return graph


async def wait_and_answer(count: int) -> Figures:
    """Start so many sessions, let them all wait, then answer every one.

    Memory is what the second half added: the first half fills the caches, which grow no further.
    """
    graph = asking_graph()
    half = count // AT_ONCE // 2
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(Path(folder) / "rondel.db") as engine:
            ids = await _ask(engine, graph, half)
            before = _resident()
            ids += await _ask(engine, graph, half)
            bytes_each = (_resident() - before) / (len(ids) / 2)
            began = time.perf_counter()
            for first in range(0, len(ids), AT_ONCE):
                chunk = ids[first : first + AT_ONCE]
                await asyncio.gather(*(_answer(engine, one) for one in chunk))
            seconds = time.perf_counter() - began
    return {"sessions": len(ids), "bytes each": bytes_each, "seconds to answer": seconds}


def _resident() -> int:
    gc.collect()
    return resident()


async def _ask(engine: Engine, graph: Graph, chunks: int) -> list[str]:
    ids: list[str] = []
    for _ in range(chunks):
        results = await asyncio.gather(*(engine.run(graph, "task") for _ in range(AT_ONCE)))
        ids += [result.session_id for result in results]
    return ids


async def _answer(engine: Engine, id: str) -> None:
    session = engine.get(id)
    await session.answer("yes")
    result = await session.result()
    if result.output != "yes":
        raise AssertionError(f"session {id} ended {result.status} with {result.output!r}")


if __name__ == "__main__":
    answer(lambda count: asyncio.run(wait_and_answer(count)), 10_000)
