"""A branch that is done is heard, however busy the branch beside it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rondel import Context, Engine, Graph

ROUNDS = 200


def busy_beside_waiting() -> Graph:
    graph = Graph("branches")
    graph.node(id="split")(lambda _: "go")

    @graph.node
    async def waiting(_: Context) -> str:
        await asyncio.sleep(0)
        return "waited"

    @graph.node
    def busy(inp: Context) -> dict[str, int]:
        return {"round": inp.round}

    graph.node(id="join")(lambda _: "joined")
    graph.edge("split", "waiting")
    graph.edge("split", "busy")
    graph.edge("busy", "busy", when=lambda message: message.data["round"] < ROUNDS)
    graph.edge("busy", "join", when=lambda message: message.data["round"] >= ROUNDS)
    graph.edge("waiting", "join")
    graph.loop("busy", max_rounds=ROUNDS + 1)
    return graph


async def ends_in_order(db: Path) -> list[str]:
    async with Engine(db, durability="full") as engine:
        session = await engine.start(busy_beside_waiting(), "task")
        told = [event async for event in session.events()]
    return [e.node_id or "" for e in told if e.data.get("status") == "completed" and e.node_id]


def test_a_branch_that_is_done_is_heard_while_another_goes_round_and_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondel.journal.sqlite.writer.SLOW", 0.0)  # every step waits for its commit
    order = asyncio.run(ends_in_order(tmp_path / "rondel.db"))
    assert order[-1] == "join"
    assert order.index("waiting") < ROUNDS // 2
