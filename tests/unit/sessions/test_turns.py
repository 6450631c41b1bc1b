"""A session that is busy leaves others their turn."""

from __future__ import annotations

import asyncio

from rondel import Context, Engine, Graph

ROUNDS = 1000


def counting_to(rounds: int) -> Graph:
    """Two async nodes that never wait, round after round."""
    graph = Graph("busy")

    @graph.node
    async def say(_: Context) -> str:
        return "again"

    @graph.node
    async def count(inp: Context) -> dict[str, int]:
        return {"round": inp.round}

    graph.node(id="done")(lambda _: "done")
    graph.edge("say", "count")
    graph.edge("count", "say", when=lambda message: message.data["round"] < rounds)
    graph.edge("count", "done", when=lambda message: message.data["round"] >= rounds)
    graph.loop("say", max_rounds=rounds)
    return graph


async def test_async_nodes_that_never_wait_do_not_keep_others_waiting() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(counting_to(ROUNDS), "task")
        turns = 0
        while session.status == "running":
            await asyncio.sleep(0)
            turns += 1
        assert session.status == "completed"
    assert turns > ROUNDS // 50
