"""A fork may change the contract of the run, and what a step said; its past must stay true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rondel import Context, Engine, Graph
from rondel.errors import CallError, GraphError


def refining(ran: list[str], **contract: Any) -> Graph:
    """A writer whose critic gives ten points more a round."""
    graph = Graph("refine", start="writer", end="done")

    @graph.node
    def writer(inp: Context) -> str:
        ran.append(f"writer {inp.round}")
        return f"draft {inp.round}"

    @graph.node
    def critic(inp: Context) -> dict[str, Any]:
        ran.append(f"critic {inp.round}")
        return {"score": 10 * inp.round, "of": inp.text}

    @graph.node
    def done(inp: Context) -> str:
        return str(inp.data["of"])

    graph.edge("writer", "critic")
    graph.edge("critic", "writer")
    graph.edge("critic", "done", label="limit")
    graph.loop("writer", exit_on_score=90, **contract)
    return graph


@pytest.mark.parametrize("kept", [False, True])
async def test_more_rounds_after_bounded(tmp_path: Path, kept: bool) -> None:
    ran: list[str] = []
    async with Engine(tmp_path / "a.db" if kept else None) as engine:
        session = await engine.start(refining(ran, max_rounds=3))
        assert (await session.result()).status == "bounded"
        ran.clear()
        fork = await session.fork(changes={"loops.writer.max_rounds": 5})
        result = await fork.result()
        assert (result.status, result.loops[0].rounds) == ("bounded", 5)
        assert result.output == "draft 5"
        assert ran == ["writer 4", "critic 4", "writer 5", "critic 5"]
        assert session.snapshot().loops[0].rounds == 3


async def test_a_fork_of_a_fork_has_even_more() -> None:
    ran: list[str] = []
    async with Engine(db=None) as engine:
        session = await engine.start(refining(ran, max_rounds=1))
        for rounds in (2, 3, 4):
            await session.result()
            session = await session.fork(changes={"loops.writer.max_rounds": rounds})
        assert (await session.result()).loops[0].rounds == 4
        assert ran == [f"{node} {n}" for n in (1, 2, 3, 4) for node in ("writer", "critic")]


@pytest.mark.parametrize(
    ("changes", "rounds", "reason", "run_anew"),
    [
        ({"loops.writer.max_rounds": 2}, 2, "max_rounds_reached", []),
        ({"loops.writer.exit_on_score": 20}, 2, "score_threshold_reached", []),
        ({"loops.writer.until": "score >= 30.0"}, 3, "condition_met", [2, 3]),
        (
            {"loops.writer.exit_on_score": 50, "loops.writer.max_rounds": 9},
            *(5, "score_threshold_reached", [5]),
        ),
    ],
)
async def test_a_fork_begins_where_the_change_makes_a_difference(
    changes: dict[str, Any], rounds: int, reason: str, run_anew: list[int]
) -> None:
    ran: list[str] = []
    graph = refining(ran, max_rounds=4)
    graph.edge("critic", "done", label="goal")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.result()
        ran.clear()
        fork = await session.fork(changes=changes)
        end = (await fork.result()).loops[0]
        assert (end.exit_reason, end.rounds) == (reason, rounds)
        assert ran == [f"{node} {n}" for n in run_anew for node in ("writer", "critic")]


async def test_an_address_that_the_changed_past_does_not_come_to_is_refused() -> None:
    ran: list[str] = []
    async with Engine(db=None) as engine:
        session = await engine.start(refining(ran, max_rounds=4))
        await session.result()
        change = {"loops.writer.max_rounds": 2}
        with pytest.raises(CallError, match=r"does not come to writer\[4\]/critic; fork ear"):
            await session.fork("writer[4]/critic", change)
        fork = await session.fork("writer[2]/critic", change)
        assert (await fork.result()).loops[0].rounds == 2


async def test_limits_of_the_run() -> None:
    ran: list[str] = []
    graph = refining(ran, max_rounds=4)
    graph.limits(max_steps=5)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        assert (await session.result()).reason == "max_steps_reached"
        fork = await session.fork(changes={"limits.max_steps": 100})
        assert (await fork.result()).loops[0].rounds == 4
        assert len(ran) == 8


async def test_a_used_up_budget() -> None:
    answer = {"content": "words", "usage": {"input_tokens": 50, "output_tokens": 50}}
    agent = {"provider": "scripted", "answers": [answer], "role": "Write."}
    graph = Graph("g", start="a")
    graph.add("a", "agent", agent)
    graph.add("b", "agent", agent)
    graph.edge("a", "b")
    graph.limits(tokens=80)
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "say something")
        assert (await session.result()).reason == "budget_exhausted"
        fork = await session.fork(changes={"limits.tokens": 100_000})
        assert (await fork.result()).status == "completed"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges.0.to": "x"}, "a fork cannot change 'edges.0.to'; it can change inputs.KEY"),
        ({"start": "critic"}, "a fork cannot change 'start'"),
        ({"nodes.writer.join": "any"}, "a fork can change a node's config"),
        ({"loops.nobody.max_rounds": 3}, "names no loop"),
        ({"loops.writer.max_rounds": 0}, "must be at least 1"),
        ({"loops.writer.max_round": 5}, "max_rounds"),
        ({"loops.writer.budget": {"tokens": 10**9}}, "makes no difference to what session"),
        ({}, "say where to fork: --at ADDRESS"),
        ({"output": "x"}, "say where to fork: --at ADDRESS"),
    ],
)
async def test_what_cannot_be_is_refused_in_one_sentence(
    changes: dict[str, Any], message: str
) -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(refining([], max_rounds=2))
        await session.result()
        with pytest.raises((CallError, GraphError)) as caught:
            await session.fork(changes=changes)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(engine.sessions().rows) == 1


async def test_a_fork_of_python_goes_on_elsewhere_under_its_own_contract(tmp_path: Path) -> None:
    ran: list[str] = []
    graph = refining(ran, max_rounds=2)
    async with Engine(tmp_path / "a.db") as engine:
        session = await engine.start(graph)
        await session.result()
        fork = await engine.fork(session, None, {"loops.writer.max_rounds": 3}, run=False)
        assert fork.status == "running"
    async with Engine(tmp_path / "a.db") as engine:
        again = await engine.resume(fork.id, graph)
        assert (await again.result()).loops[0].rounds == 3


# What a step said


@pytest.mark.parametrize("run", [True, False])
async def test_a_step_says_something_else(tmp_path: Path, run: bool) -> None:
    ran: list[str] = []
    graph = refining(ran, max_rounds=2)
    async with Engine(tmp_path / "a.db") as engine:
        session = await engine.start(graph)
        await session.result()
        ran.clear()
        change = {"output": "a better draft"}
        fork = await engine.fork(session, "writer[2]/writer", change, run=run)
        if not run:
            assert ran == []
            await fork.resume()
        assert (await fork.result()).output == "a better draft"
        assert ran == ["critic 2"]
        said = {step.address: step.outputs for step in fork.steps()}
        assert said["writer[2]/writer"][0]["content"] == "a better draft"
        assert said["writer[2]/writer"][0]["source"] == "writer"


async def test_a_step_that_failed_says_something() -> None:
    graph = Graph("g")
    graph.node(id="a")(lambda inp: 1 / 0)
    graph.node(id="b")(lambda inp: f"{inp.text} {inp.data['n']}")
    graph.edge("a", "b")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.result()
        fork = await session.fork("a", {"output": {"content": "well", "data": {"n": 7}}})
        assert (await fork.result()).output == "well 7"


async def test_conditions_see_what_is_said_instead() -> None:
    graph = Graph("g", end=["yes", "no"])
    graph.node(id="a")(lambda inp: "no")
    graph.node(id="yes")(lambda inp: "it was yes")
    graph.node(id="no")(lambda inp: "it was no")
    graph.edge("a", "yes", when=lambda m: m.text == "yes")
    graph.edge("a", "no", when=lambda m: m.text == "no")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        assert (await session.result()).output == "it was no"
        fork = await session.fork("a", {"output": "yes"})
        assert (await fork.result()).output == "it was yes"


@pytest.mark.parametrize(
    ("at", "output", "message"),
    [
        ("writer[2]", "x", "output is what a step said that has ended; there is none at"),
        ("writer[1]/writer", 7, "output is a text"),
        ("writer[1]/writer", {"text": "x"}, "output is a text"),
    ],
)
async def test_an_output_that_cannot_be_is_refused(at: str, output: Any, message: str) -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(refining([], max_rounds=2))
        await session.result()
        with pytest.raises(CallError, match=message):
            await session.fork(at, {"output": output})
