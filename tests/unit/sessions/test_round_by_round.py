"""Debugging: a session that pauses at the end of every round of a loop, and goes on when told."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondel import Context, Engine, Graph, Session
from rondel.engine.core.fold import apply
from rondel.engine.core.snapshot import dump, load
from rondel.engine.core.state import SessionState
from rondel.errors import CallError
from rondel.forecast.simulation import simulate


def refining(rounds: int = 4, **contract: object) -> tuple[Graph, list[int]]:
    """A loop that goes on until its rounds are used up, and the rounds that ran so far."""
    graph, ran = Graph("refine", start="writer", end="done"), list[int]()

    @graph.node
    def writer(inp: Context) -> str:
        ran.append(inp.round)
        return f"draft {inp.round}"

    @graph.node
    def critic(inp: Context) -> str:
        return inp.text

    @graph.node
    def done(inp: Context) -> str:
        return inp.text

    graph.edge("writer", "critic")
    graph.edge("critic", "writer")
    graph.edge("critic", "done", label="limit")
    graph.loop("writer", max_rounds=rounds, **contract)
    return graph, ran


def rest(session: Session) -> tuple[str, str]:
    result = session.snapshot()
    return result.status, result.reason


@pytest.mark.parametrize("named", [False, True])
async def test_it_pauses_after_every_round_that_another_one_follows(named: bool) -> None:
    graph, ran = refining() if named else refining(debug=True)
    async with Engine(db=None) as engine:
        session = await engine.start(graph, debug=["writer"] if named else ())
        for round in (1, 2, 3):
            await session.settled()
            assert rest(session) == ("paused", "round_end")
            assert ran == list(range(1, round + 1))
            await session.resume()
        assert (await session.settled()).output == "draft 4"
        assert ran == [1, 2, 3, 4]
        told = [e.data async for e in session.events() if e.event == "session_state_change"]
        assert [data["reason"] for data in told if data["status"] == "paused"] == ["round_end"] * 3


async def test_free_goes_on_without_further_stops() -> None:
    graph, ran = refining(debug=True)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.settled()
        await session.resume(free=True)
        assert (await session.settled()).status == "completed"
        assert ran == [1, 2, 3, 4]


async def test_the_pause_and_the_freedom_survive_the_process(tmp_path: Path) -> None:
    graph, ran = refining()
    db = tmp_path / "a.db"
    async with Engine(db) as engine:
        session = await engine.start(graph, debug=["writer"])
        await session.settled()
    for round in (2, 3):
        async with Engine(db) as engine:
            again = engine.get(session.id)
            assert rest(again) == ("paused", "round_end")
            again.use(graph)
            await again.resume()
            await again.settled()
            assert ran == list(range(1, round + 1))
    async with Engine(db) as engine:
        again = await engine.resume(session.id, graph)
        assert (await again.result()).status == "completed"


async def test_a_loop_that_ends_does_not_pause() -> None:
    graph, _ = refining(rounds=1, debug=True)
    async with Engine(db=None) as engine:
        assert (await engine.run(graph)).status == "completed"


async def test_what_runs_beside_the_loop_finishes_its_step_and_waits_too() -> None:
    graph, ran = refining(rounds=2, debug=True)
    beside: list[str] = []
    graph.document["graph"]["start"] = ["writer", "first"]
    graph.document["graph"]["end"] = ["done"]
    for name in ("first", "second"):
        graph.node(id=name)(lambda inp: beside.append(inp.node_id) or inp.node_id)
    graph.edge("first", "second")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.settled()
        assert rest(session) == ("paused", "round_end")
        await session.resume()
        assert (await session.settled()).status == "completed"
        assert (ran, beside) == ([1, 2], ["first", "second"])


async def test_a_loop_that_is_not_there_is_refused() -> None:
    graph, _ = refining()
    async with Engine(db=None) as engine:
        with pytest.raises(CallError, match=r"'writr' heads no loop; did you mean 'writer'\?"):
            await engine.start(graph, debug=["writr"])
        with pytest.raises(CallError, match=r"write \['writer'\]"):
            await engine.start(graph, debug="writer")


async def test_a_snapshot_knows_who_waits() -> None:
    graph, ran = refining(rounds=3)
    async with Engine(db=None) as engine:
        session = await engine.start(graph, debug=["writer"])
        for _ in range(2):
            await session.settled()
            await session.resume()
        await session.settled()
        plan = graph.plan()
        whole, copies = SessionState(plan), list[SessionState]()
        for tick in session.journal():
            apply(whole, tick)
            for state in copies:
                apply(state, tick)
                assert dump(state) == dump(whole)
            copies.append(SessionState(plan))
            load(copies[-1], dump(whole))
        assert ran == [1, 2, 3]


def test_a_simulation_does_not_stop() -> None:
    assert {run.status for run in simulate(lambda: refining(debug=True)[0], 3).runs} == {
        "completed"
    }
