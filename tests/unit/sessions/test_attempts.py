"""Attempts of a step are durable: their number, what they spent, how long the next one waits."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rondel import Context, Engine, Graph
from rondel.engine.protocols import Usage
from tests.unit.sessions.playing import until


class Failing:
    """A node that pays for every call, and fails in all of them."""

    def __init__(self, wait: str) -> None:
        self.calls = 0
        self.attempts: list[int] = []
        self.wait = wait

    def graph(self) -> Graph:
        graph = Graph("g")

        @graph.node(retry={"max_attempts": 3, "min_wait": self.wait, "max_wait": self.wait})
        async def work(inp: Context) -> str:
            self.calls += 1
            self.attempts.append(inp.attempt)
            inp.charge(Usage("m", 10))
            raise ValueError(f"call {self.calls}")

        return graph


async def goes_on(db: Path, id: str, failing: Failing) -> bool:
    """Let another process make the next attempt, at least; whether the session is over then."""
    async with Engine(db) as engine:
        session = await engine.resume(id, failing.graph())
        length = session.row.length
        await until(lambda: session.row.length > length or session.status == "failed")
        return session.row.status == "failed"


async def test_three_attempts_stay_three_whatever_dies(tmp_path: Path) -> None:
    failing, db = Failing("20ms"), tmp_path / "a.db"
    async with Engine(db) as engine:
        session = await engine.start(failing.graph())
        await until(lambda: session.row.length > 1)
    while not await goes_on(db, session.id, failing):
        pass
    async with Engine(db) as engine:
        again = engine.get(session.id)
        result = again.snapshot()
        assert (result.status, failing.attempts) == ("failed", [1, 2, 3])
        assert result.usage.model_calls == 3
        assert len(again.ledger()) == 3
        errors = [
            (event.data["kind"], event.data["error"])
            async for event in again.events()
            if event.event == "error"
        ]
        assert errors == [
            ("retry", "ValueError: call 1"),
            ("retry", "ValueError: call 2"),
            ("ValueError", "ValueError: call 3"),
        ]


async def test_a_wait_goes_on_where_it_was(tmp_path: Path) -> None:
    failing, db = Failing("1h"), tmp_path / "a.db"
    async with Engine(db) as engine:
        session = await engine.start(failing.graph())
        await until(lambda: session.row.length == 2)
    async with Engine(db) as engine:
        again = await engine.resume(session.id, failing.graph())
        for _ in range(5):
            await asyncio.sleep(0)
        assert (failing.calls, again.status) == (1, "running")


async def test_a_failed_step_that_is_resumed_has_all_its_attempts_again() -> None:
    failing = Failing("0s")
    async with Engine(db=None) as engine:
        session = await engine.start(failing.graph())
        assert (await session.result()).status == "failed"
        await session.resume()
        assert (await session.result()).status == "failed"
        assert failing.attempts == [1, 2, 3, 4, 5, 6]
        assert session.snapshot().usage.model_calls == 6
