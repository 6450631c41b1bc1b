"""A clock on the wall that is set while sessions run changes nothing but the time it shows."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import psutil
import pytest

from rondel import Context, Engine, Graph
from rondel.errors import SessionBusy
from rondel.sessions.lease import is_gone, new_owner
from tests.unit.sessions.test_deadlines import asking

JUMPS = [60.0, 3600.0, -3600.0]


class Wall:
    """The clock on the wall of this machine, and who sets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        self._real = time.time
        self._boot = psutil.boot_time()
        monkeypatch.setattr(time, "time", lambda: self._real() + self._ahead)
        monkeypatch.setattr("psutil._psplatform.boot_time", lambda: self._boot + self._ahead)

    def jump(self, seconds: float) -> None:
        self._ahead += seconds


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    return Wall(monkeypatch)


def working(wall: Wall, jump: float) -> Graph:
    """A loop of three rounds, in the second of which the clock is set; its times are bounded."""
    graph = Graph("jumping")

    async def work(inp: Context) -> str:
        if inp.round == 2:
            wall.jump(jump)
        return "done"

    graph.node(id="work", timeout=60.0)(work)
    graph.node(id="out")(lambda inp: inp.text)
    graph.edge("work", "work")
    graph.edge("work", "out", when=False)
    graph.loop("work", max_rounds=3, budget={"wall_time": "5m"})
    return graph


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("in_memory", [True, False])
async def test_no_bound_of_time_is_reached_and_no_round_has_taken_the_jump(
    tmp_path: Path, wall: Wall, jump: float, in_memory: bool
) -> None:
    async with Engine(db=None if in_memory else tmp_path / "s.db") as engine:
        session = await engine.start(working(wall, jump))
        result = await session.result()
        assert result.loops[0].rounds == 3
        assert result.loops[0].exit_reason == "max_rounds_reached"
        assert all(0 <= found.duration < 60 for found in session.rounds())
        assert all(0 <= found.duration < 60 for found in session.steps())


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_live_session_is_not_taken_by_who_reads_another_clock(
    tmp_path: Path, wall: Wall, jump: float
) -> None:
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.start(asking("{timeout: 1h, on_timeout: late}"))
        await session.settled()
        store = engine.store
        assert store.acquire(session.id, "me", 30.0).granted
        wall.jump(jump)
        async with Engine(db=tmp_path / "s.db") as other:
            assert other.driver_of(session.id) == "me"
            with pytest.raises(SessionBusy):
                await other.resume(session.id)
            assert not other.store.acquire(session.id, "you", 30.0).granted
            assert store.renew(session.id, "me", 0.02)
            await asyncio.sleep(0.03)
            assert other.store.acquire(session.id, "you", 30.0).granted


@pytest.mark.parametrize("jump", JUMPS)
def test_a_living_process_is_alive_by_any_clock(wall: Wall, jump: float) -> None:
    owner = new_owner()
    wall.jump(jump)
    assert not is_gone(owner)


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("in_memory", [True, False])
async def test_a_question_is_settled_in_its_time(
    tmp_path: Path, wall: Wall, jump: float, in_memory: bool
) -> None:
    async with Engine(db=None if in_memory else tmp_path / "s.db") as engine:
        session = await engine.start(asking("{timeout: 200ms, on_timeout: late}"))
        await session.settled()
        wall.jump(jump)
        assert session.status == "waiting"
        assert (await session.result()).output == "late"


async def test_a_clock_set_back_keeps_no_question_open_in_the_next_process(
    tmp_path: Path, wall: Wall
) -> None:
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.start(asking("{timeout: 200ms, on_timeout: late}"))
        await session.settled()
    wall.jump(-3600)
    async with Engine(db=tmp_path / "s.db") as engine:
        await engine.recover()
        session = engine.get(session.id)
        assert (await session.result()).output == "late"
        times = [tick.at for tick in session.journal()]
        assert times == sorted(times)
