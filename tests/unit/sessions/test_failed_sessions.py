"""A session that a step's failure ended goes on from that step, and nothing else runs again."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from rondel import Context, Engine, Graph, Result
from rondel.engine import ticks


class Shaky:
    """Nodes that fail while they are told to, and count how often each was called."""

    def __init__(self, *failing: str) -> None:
        self.failing = set(failing)
        self.calls: Counter[str] = Counter()

    def say(self, name: str) -> str:
        self.calls[name] += 1
        if name in self.failing:
            raise ValueError(f"{name} is out of order")
        return name


def refining(shaky: Shaky, fails_in_round: int = 2) -> Graph:
    """A loop of three rounds whose critic fails in one of them."""
    graph = Graph("refine")

    @graph.node
    def writer(inp: Context) -> str:
        return shaky.say(f"writer {inp.round}")

    @graph.node
    def critic(inp: Context) -> dict[str, int]:
        shaky.say("critic" if inp.round == fails_in_round else "fine")
        return {"score": 30 * inp.round}

    @graph.node
    def done(inp: Context) -> str:
        return inp.text or "done"

    graph.edge("writer", "critic")
    graph.edge("critic", "writer", when="data.score < 90")
    graph.edge("critic", "done", when="data.score >= 90")
    graph.loop("writer", max_rounds=5)
    return graph


@pytest.mark.parametrize("kept", [False, True])
async def test_the_failed_step_runs_again_and_no_other(tmp_path: Path, kept: bool) -> None:
    shaky = Shaky("critic")
    async with Engine(tmp_path / "a.db" if kept else None) as engine:
        session = await engine.start(refining(shaky))
        failed = await session.result()
        assert (failed.status, failed.reason) == ("failed", "step_failed")
        shaky.failing.clear()
        await session.resume(by="ada")
        result = await session.result()
        assert result.status == "completed"
        assert [(loop.exit_reason, loop.rounds) for loop in result.loops] == [("exit_edge", 3)]
        assert shaky.calls == {
            "writer 1": 1,
            "writer 2": 1,
            "writer 3": 1,
            "critic": 2,
            "fine": 2,
        }


async def test_the_failure_stays_in_the_history() -> None:
    shaky = Shaky("critic")
    async with Engine(db=None) as engine:
        session = await engine.start(refining(shaky))
        await session.result()
        shaky.failing.clear()
        await session.resume()
        await session.result()
        events = [event async for event in session.events()]
        told = [
            event.data["status"]
            for event in events
            if event.event == "node_state_change" and event.address == "writer[2]/critic"
        ]
        assert told == ["running", "failed", "running", "completed"]
        assert [e.data["status"] for e in events if e.event == "session_state_change"] == [
            "running",
            "failed",
            "running",
            "completed",
        ]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        steps = {step.address: step.status for step in session.steps()}
        assert set(steps.values()) == {"completed"}
        assert [record.round for record in session.rounds()] == [1, 2, 3]
        assert [r.exit_reason for r in session.rounds()] == [None, None, "exit_edge"]


async def test_another_process_goes_on_with_a_failed_session(tmp_path: Path) -> None:
    shaky = Shaky("critic")
    db = tmp_path / "a.db"
    async with Engine(db) as engine:
        id = (await engine.run(refining(shaky))).session_id
    async with Engine(db) as engine:  # it fails again, and can be resumed again
        session = await engine.resume(id, refining(shaky))
        assert (await session.result()).status == "failed"
    shaky.failing.clear()
    async with Engine(db) as engine:
        session = await engine.resume(id, refining(shaky))
        assert (await session.result()).status == "completed"
        assert shaky.calls["critic"] == 3


async def test_branches_that_the_failure_cut_off_go_on_too() -> None:
    shaky, calls = Shaky("bad"), Counter[str]()
    graph = Graph("g", start="s")
    graph.node(id="s")(lambda inp: "s")
    slow = asyncio.Event()

    @graph.node
    async def good(inp: Context) -> str:
        calls["good"] += 1
        await slow.wait()
        return "good"

    @graph.node
    async def bad(inp: Context) -> str:
        await asyncio.sleep(0)
        return shaky.say("bad")

    @graph.node(join="all")
    def end(inp: Context) -> str:
        return " and ".join(sorted(str(message.content) for message in inp.messages))

    for node in ("good", "bad"):
        graph.edge("s", node)
        graph.edge(node, "end")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        assert (await session.result()).status == "failed"
        shaky.failing.clear()
        slow.set()
        await session.resume()
        assert (await session.result()).output == "bad and good"
        assert calls["good"] == 2


async def test_a_session_that_is_over_otherwise_is_returned(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    graph = Graph("g")
    graph.node(id="a")(lambda inp: "a")
    short = Graph("short")
    short.node(id="a")(lambda inp: "a")
    short.node(id="b")(lambda inp: "b")
    short.edge("a", "b")
    short.limits(max_steps=1)
    async with Engine(db) as engine:
        completed = await engine.run(graph)
        bounded = await engine.run(short)
    assert (completed.status, bounded.status) == ("completed", "failed")
    async with Engine(db) as engine:
        for result in (completed, bounded):
            session = await engine.resume(result.session_id)
            length = session.row.length
            assert (await session.result()).status == result.status
            assert session.row.length == length
            assert not any(isinstance(tick, ticks.Retried) for tick in session.journal())


SCRIPT = """
graph:
  id: script
  nodes:
    - id: Writer
      type: agent
      config: {provider: scripted, answers: [{error: the first is lost}, the second]}
"""


async def _resumed_script() -> Result:
    async with Engine(db=None) as engine:
        session = await engine.start(Graph.loads(SCRIPT), "task")
        assert (await session.settled()).status == "failed"
        await session.resume()
        return await session.settled()


def test_a_script_goes_on_behind_the_answer_that_failed() -> None:
    result = asyncio.run(_resumed_script())
    assert (result.status, result.output) == ("completed", "the second")
