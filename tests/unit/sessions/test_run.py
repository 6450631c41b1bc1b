"""A session that `engine.run` drives is one like any other, though nobody was handed it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rondel import Context, Engine, Graph
from rondel.errors import Disconnected
from tests.unit.sessions.playing import alone, until


class Gate:
    """A node that says when it began, and waits."""

    def __init__(self) -> None:
        self.id = ""
        self.open = asyncio.Event()

    async def __call__(self, inp: Context) -> str:
        self.id = inp.session_id
        await self.open.wait()
        return "through"


def asking(limit: str = "1h") -> Graph:
    graph = Graph("ask")
    graph.add("Editor", "human", {"description": "good?", "timeout": limit, "on_timeout": "late"})
    return graph


async def test_whoever_asks_for_it_meanwhile_gets_the_one_that_runs() -> None:
    gate = Gate()
    async with Engine(db=None) as engine:
        running = asyncio.create_task(engine.run(alone(gate)))
        await until(lambda: bool(gate.id))
        session = engine.get(gate.id)
        assert session is engine.get(gate.id)
        await session.stop("Ada")
        assert (await running).message == "stopped by Ada"
        assert session is engine.get(gate.id)
        assert session.status == "cancelled"


async def test_what_another_process_asks_of_it_is_done(tmp_path: Path) -> None:
    gate = Gate()
    async with Engine(tmp_path / "db") as engine, Engine(tmp_path / "db") as other:
        running = asyncio.create_task(engine.run(alone(gate)))
        await until(lambda: bool(gate.id))
        await other.get(gate.id).stop("Ada")
        assert (await running).message == "stopped by Ada"


async def test_an_engine_that_closes_lets_go_of_it(tmp_path: Path) -> None:
    gate = Gate()
    graph = alone(gate)
    async with Engine(tmp_path / "db") as engine:
        running = asyncio.create_task(engine.run(graph))
        await until(lambda: bool(gate.id))
    with pytest.raises(Disconnected):
        await running
    gate.open.set()
    async with Engine(tmp_path / "db") as engine:
        session = await engine.resume(gate.id, graph)
        assert (await session.result()).output == "through"


async def test_its_question_is_answered_once_by_whoever_comes_first() -> None:
    async with Engine(db=None) as engine:
        waiting = await engine.run(asking())
        session = engine.get(waiting.session_id)
        assert session is engine.get(waiting.session_id)
        await session.answer("yes")
        assert (await session.result()).output == "yes"
        assert session.asking == []


async def test_its_deadline_is_minded_while_nobody_holds_it() -> None:
    async with Engine(db=None) as engine:
        waiting = await engine.run(asking("50ms"))
        await until(lambda: engine.get(waiting.session_id).status == "completed")
        assert engine.get(waiting.session_id).snapshot().output == "late"
