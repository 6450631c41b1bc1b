"""What somebody outside tells a session, its nodes can read, and no other session's."""

from __future__ import annotations

import asyncio

from rondel import Context, Engine, Graph

GO = "go"


def watching() -> Graph:
    """One node that keeps the signals at hand and looks at them until there is one."""
    graph = Graph("watching")

    @graph.node
    async def watch(inp: Context) -> str:
        signals = inp.signals
        while GO not in signals:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        return str(signals[GO])

    return graph


async def test_a_node_under_way_sees_signals_as_they_come() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(watching(), "task")
        await asyncio.sleep(0.005)
        await session.signal(GO, "now")
        assert (await asyncio.wait_for(session.result(), 10)).output == "now"


async def test_signals_reach_no_other_session() -> None:
    graph = watching()
    async with Engine(db=None) as engine:
        told, other = [await engine.start(graph, "task") for _ in range(2)]
        await told.signal(GO, "now")
        await told.result()
        await asyncio.sleep(0.01)
        assert other.status == "running"
        await other.signal(GO, "later")
        assert (await other.result()).output == "later"
