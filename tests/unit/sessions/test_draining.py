"""An engine that is to go: steps under way end, none begins, and the next process goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rondel import Engine, Graph


def three(log: list[str], begun: asyncio.Event, go: asyncio.Event, *, beside: bool) -> Graph:
    graph = Graph("three", start=["a", "x"] if beside else ["a"], end=["c"])

    @graph.node
    async def a(inp):  # type: ignore[no-untyped-def]
        log.append("a begins")
        begun.set()
        await go.wait()
        log.append("a ends")
        return "from a"

    @graph.node
    async def b(inp):  # type: ignore[no-untyped-def]
        log.append("b")
        return f"{inp.text}, b"

    @graph.node
    def c(inp):  # type: ignore[no-untyped-def]
        return inp.text

    graph.edge("a", "b")
    graph.edge("b", "c")
    if beside:

        @graph.node
        async def x(inp):  # type: ignore[no-untyped-def]
            await go.wait()
            return "x"

    return graph


async def drained(tmp_path: Path, *, beside: bool) -> None:
    log: list[str] = []
    begun, go = asyncio.Event(), asyncio.Event()
    graph = three(log, begun, go, beside=beside)
    async with Engine(tmp_path / "a.db") as engine:
        session = await engine.start(graph, "x")
        await begun.wait()
        draining = asyncio.create_task(engine.drain(30))
        await asyncio.sleep(0)
        go.set()
        await draining
        assert log == ["a begins", "a ends"]
        assert session.row.status == "running"
    async with Engine(tmp_path / "a.db") as engine:
        again = await engine.resume(session.id, graph)
        assert (await again.result()).output == "from a, b"
    assert log == ["a begins", "a ends", "b"]


@pytest.mark.parametrize("beside", [False, True])
def test_steps_under_way_end_and_none_begins(tmp_path: Path, *, beside: bool) -> None:
    asyncio.run(drained(tmp_path, beside=beside))


async def test_a_step_that_takes_longer_than_the_grace_is_cut_and_runs_again(
    tmp_path: Path,
) -> None:
    log: list[str] = []
    begun, go = asyncio.Event(), asyncio.Event()
    graph = three(log, begun, go, beside=False)
    async with Engine(tmp_path / "a.db") as engine:
        session = await engine.start(graph, "x")
        await begun.wait()
        await engine.drain(0.05)
    go.set()
    async with Engine(tmp_path / "a.db") as engine:
        again = await engine.resume(session.id, graph)
        assert (await again.result()).output == "from a, b"
    assert log == ["a begins", "a begins", "a ends", "b"]
