"""What a waiting session costs in memory, counted in bytes: next to nothing, also when held."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from rondel import Engine, Graph, Session

COUNT = 200


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def asking() -> Graph:
    graph = Graph("ask")
    graph.add("Editor", "human", {"description": "good?"})
    return graph


async def wait_many(engine: Engine, graph: Graph) -> list[Session]:
    sessions = [await engine.start(graph, "task") for _ in range(COUNT)]
    for result in await asyncio.gather(*(session.settled() for session in sessions)):
        assert result.status == "waiting"
    return sessions


async def bytes_each(db: Path | None, *, look: bool = False) -> float:
    """What the second lot of sessions adds, all of them held; the first fills the caches."""
    graph = asking()
    async with Engine(db) as engine:
        held = await wait_many(engine, graph)
        before = traced_now(held, look=look)
        held += await wait_many(engine, graph)
        return (traced_now(held, look=look) - before) / COUNT


def traced_now(held: list[Session], *, look: bool) -> int:
    if look:
        for session in held:
            assert {asked.node_id: asked.description for asked in session.questions()} == {
                "Editor": "good?"
            }
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_a_waiting_session_that_somebody_holds_takes_less_than_a_kilobyte(tmp_path: Path) -> None:
    assert asyncio.run(bytes_each(tmp_path / "db")) < 800


def test_looking_at_a_waiting_session_does_not_make_it_larger(tmp_path: Path) -> None:
    assert asyncio.run(bytes_each(tmp_path / "db", look=True)) < 800


def test_in_memory_a_waiting_session_takes_little_more_than_its_ticks() -> None:
    assert asyncio.run(bytes_each(None)) < 1800
