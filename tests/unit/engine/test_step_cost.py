"""What the engine does between two nodes, counted in function calls, so that it cannot creep up.

It is counted in plain Python, for no profiler sees what compiled code calls. The bounds leave
room for a few calls more: they notice what costs every step, not how a function is cut.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys

import pytest

from rondel import Context, Engine, Graph
from tests.plain import run_plain
from tests.unit.engine.step_calls import loop

BOUNDS = {"a loop": 95, "with a history": 100, "fan-out and join": 95, "every event told": 160}


@pytest.fixture(scope="module")
def calls() -> dict[str, float]:
    counted: dict[str, float] = json.loads(run_plain("-m", "tests.unit.engine.step_calls"))
    return counted


@pytest.mark.parametrize("case", BOUNDS)
def test_a_step_takes_few_calls(case: str, calls: dict[str, float]) -> None:
    assert calls[case] <= BOUNDS[case]


MOST_BLOCKS = 8
"""What a step may leave in memory, in blocks: its tick, what was said, and now and then data."""

MOST_OBJECTS = 56
"""What a session that runs may give the garbage collector to look at, its tasks included."""


async def blocks_after(rounds: int) -> int:
    graph = loop(rounds)
    async with Engine(db=None) as engine:
        await engine.run(graph, "task")
        gc.collect()
        before = sys.getallocatedblocks()
        await engine.run(graph, "task")
        gc.collect()
        return sys.getallocatedblocks() - before


def test_a_step_leaves_little_behind() -> None:
    few, many = (asyncio.run(blocks_after(rounds)) for rounds in (500, 1500))
    assert (many - few) / 3000 <= MOST_BLOCKS


async def objects_of(sessions: int) -> float:
    graph = Graph("waits")

    @graph.node
    async def wait(_: Context) -> str:
        await go_on.wait()
        return "x"

    graph.node(id="done")(lambda _: "done")
    graph.edge("wait", "wait", when=lambda _: False)
    graph.edge("wait", "done")
    async with Engine(db=None) as engine:
        go_on = asyncio.Event()
        go_on.set()
        await engine.run(graph, "task")
        go_on.clear()
        gc.collect()
        before = len(gc.get_objects())
        running = [asyncio.ensure_future(engine.run(graph, "task")) for _ in range(sessions)]
        for _ in range(10):
            await asyncio.sleep(0)
        gc.collect()
        found = len(gc.get_objects()) - before
        go_on.set()
        await asyncio.gather(*running)
    return found / sessions


def test_a_running_session_is_few_objects() -> None:
    assert asyncio.run(objects_of(100)) <= MOST_OBJECTS


def two_loops(rounds: int, seen: dict[int, int]) -> Graph:
    """Two loops beside each other, so that there is always something ready."""
    graph = Graph("two", start=["left", "right"])
    for name in ("left", "right"):

        def turn(inp: Context, name: str = name) -> str:
            if name == "left":
                seen[inp.round] = sys.getallocatedblocks()
            return "go on"

        graph.node(id=name)(turn)
        graph.node(id=f"{name} end")(lambda _: "done")
        graph.edge(name, name)
        graph.edge(name, f"{name} end", label="limit")
        graph.loop(name, max_rounds=rounds)
    graph.limits(max_steps=10**6)
    return graph


async def test_steps_that_are_over_are_let_go_of_while_others_are_ready() -> None:
    seen = dict.fromkeys(range(1, 3001), 0)

    async with Engine(db=None) as engine:
        assert (await engine.run(two_loops(3000, seen), "task")).status == "completed"
    gc.collect()
    assert (seen[2900] - seen[900]) / 4000 <= MOST_BLOCKS
