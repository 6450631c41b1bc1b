"""What is over is gone at once: nothing of it waits for the garbage collector."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from weakref import ref

import pytest

from rondel import Context, Engine, Graph

COUNT = 50


def loop() -> Graph:
    graph = Graph("loop")

    @graph.node
    async def work(inp: Context) -> dict[str, int]:
        await asyncio.sleep(0)
        return {"round": inp.round}

    graph.node(id="done")(lambda _: "done")
    graph.edge("work", "work", when=lambda message: message.data["round"] < 3)
    graph.edge("work", "done", when=lambda message: message.data["round"] >= 3)
    graph.loop("work", max_rounds=4)
    return graph


def fan() -> Graph:
    graph = Graph("fan")
    graph.node(id="split")(lambda _: "go")
    graph.node(id="join")(lambda inp: inp.text)
    for number in range(3):

        @graph.node(id=f"worker {number}")
        async def worker(_: Context) -> str:
            await asyncio.sleep(0)
            return "done"

        graph.edge("split", f"worker {number}")
        graph.edge(f"worker {number}", "join")
    return graph


async def garbage_of(db: Path | None, graph: Graph) -> int:
    """What the collector finds after many sessions that it was kept from."""
    async with Engine(db) as engine:
        await engine.run(graph, "task")
        gc.collect()
        gc.disable()
        try:
            for _ in range(COUNT):
                assert (await engine.run(graph, "task")).status == "completed"
            await asyncio.sleep(0)
            return gc.collect()
        finally:
            gc.enable()


@pytest.mark.parametrize("graph", [loop(), fan()], ids=["a loop", "branches beside each other"])
@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "in a file"])
def test_a_session_that_is_over_leaves_no_garbage(
    tmp_path: Path, graph: Graph, *, stored: bool
) -> None:
    assert asyncio.run(garbage_of(tmp_path / "db" if stored else None, graph)) < 5 * COUNT


class Large(dict[str, int]):
    """A result that one can see the end of."""


async def test_what_a_node_returned_is_let_go_of_before_the_next_one_waits() -> None:
    """What is recorded is a copy; the original may be large, and the next node may take days."""
    left: list[ref[Large]] = []
    alive: list[bool] = []
    graph = Graph("two")

    @graph.node
    async def first(_: Context) -> dict[str, int]:
        result = Large(size=1)
        left.append(ref(result))
        return result

    @graph.node
    async def second(inp: Context) -> str:
        await asyncio.sleep(0)
        alive.append(left[0]() is not None)
        return str(inp.data["size"])

    graph.edge("first", "second")

    async with Engine(db=None) as engine:
        assert (await engine.run(graph, "task")).output == "1"
    assert alive == [False]
