"""A fork at a loop's question can be given another answer."""

from __future__ import annotations

import pytest

from rondel import Engine, Graph
from rondel.errors import CallError


def asking() -> Graph:
    graph = Graph("g", start="w", end="out")
    graph.node(id="w")(lambda inp: {"score": 10 * inp.round})
    graph.node(id="out")(lambda inp: str(inp.data["score"]))
    graph.edge("w", "w")
    graph.edge("w", "out", label="limit")
    graph.loop("w", max_rounds=2, exit_on_score=90, on_limit="human")
    return graph


async def test_the_fork_takes_the_other_answer_and_the_parent_keeps_its_own() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking())
        await session.settled()
        await session.answer("continue 1")
        await session.settled()
        await session.answer("best")
        assert (await session.result()).loops[0].rounds == 3
        fork = await session.fork("w[2]", {"answer": "best"})
        result = await fork.result()
        assert (result.loops[0].rounds, result.output) == (2, "20")


async def test_an_open_question_can_be_forked_too() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking())
        await session.settled()
        fork = await session.fork("w[2]", {"answer": "stop"})
        assert (await fork.result()).status == "cancelled"
        assert session.status == "waiting"


async def test_a_round_without_a_question_takes_no_answer() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking())
        await session.settled()
        with pytest.raises(CallError, match="no step or round at"):
            await session.fork("w[1]", {"answer": "best"})
