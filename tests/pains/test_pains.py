"""What users of other engines' loops complain about, each reproduced here without a model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rondel import Context, Engine, Graph, Session
from tests.e2e.command import rondel
from tests.unit.engine.refining import refine, tokens, with_breaker
from tests.unit.sessions.playing import play

SIZES = range(1, 7)

STUCK = """
graph:
  id: stuck
  start: Writer
  nodes:
    - id: Writer
      type: agent
      config: {provider: scripted, answers: [I will try the same thing once more.]}
    - id: Done
      type: passthrough
  edges:
    - {from: Writer, to: Writer}
    - {from: Writer, to: Done, condition: false}
  loops:
    Writer: {max_rounds: 6}
"""


def counting(rounds: int, **nodes: Any) -> Graph:
    """A loop of two nodes that ends at its cap, and nowhere else."""
    graph = Graph("counting")
    graph.node(id="head")(nodes.get("head", lambda inp: f"round {inp.round}"))
    graph.node(id="body")(nodes.get("body", lambda inp: inp.text))
    graph.node(id="done")(lambda inp: inp.text)
    graph.edge("head", "body")
    graph.edge("body", "head")
    graph.edge("body", "done", when=False)
    graph.loop("head", max_rounds=rounds)
    return graph


def address_of(inp: Context) -> str:
    return inp.address


def nested(outer: int, inner: int, work: Callable[[Context], str] = address_of) -> Graph:
    """A loop in a loop, both of which end at their caps."""
    graph = Graph("nested")
    for name in ("outer", "inner", "leaf", "gate", "done"):
        graph.node(id=name)(work)
    graph.edge("outer", "inner")
    graph.edge("inner", "leaf")
    graph.edge("leaf", "inner")
    graph.edge("leaf", "gate", when=False)
    graph.edge("gate", "outer")
    graph.edge("gate", "done", when=False)
    graph.loop("outer", max_rounds=outer)
    graph.loop("inner", max_rounds=inner)
    return graph


class Hang:
    """A function that never returns from one execution, until it is called again."""

    def __init__(self, at: int) -> None:
        self._at = at
        self.runs: Counter[int] = Counter()
        self.hangs = asyncio.Event()

    async def __call__(self, inp: Context) -> str:
        self.runs[inp.round] += 1
        if inp.round == self._at and self.runs[inp.round] == 1:
            self.hangs.set()
            await asyncio.Event().wait()
        return f"round {inp.round}"


def test_a_cap_counts_rounds_and_not_steps() -> None:
    """LangGraph's users hit a global recursion limit of 25 steps that is not rounds."""
    played = play(nested(4, 30))
    assert played.times["leaf"] == 120
    assert played.result.status == "completed"
    assert played.exits[-1] == ("outer", 4, "max_rounds_reached")


def test_the_cap_of_the_whole_run_has_a_reason_of_its_own() -> None:
    """LangGraph's users cannot tell a loop that is capped from a graph that is."""
    graph = nested(4, 30)
    graph.limits(max_steps=50)
    played = play(graph)
    assert (played.result.status, played.result.reason) == ("failed", "max_steps_reached")
    assert {reason for _, _, reason in played.exits[-2:]} == {"failed"}


def test_the_work_is_handed_on_at_the_cap() -> None:
    """OpenAI Agents' and CrewAI's users get an exception at the cap, and their work is gone."""
    result = play(counting(3)).result
    assert (result.status, result.output) == ("completed", "round 3")


def test_a_loop_that_missed_its_goal_is_not_called_a_success(tmp_path: Path) -> None:
    """CrewAI's and AutoGen's users are told of success when a run was merely cut off."""
    missed = play(refine([10, 20], max_rounds=2, exit_on_score=90)).result
    assert missed.status == "bounded"
    (loop,) = missed.loops
    assert (loop.exit_reason, loop.value, loop.threshold) == ("max_rounds_reached", 2, 2)
    assert loop.bounded
    reached = play(refine([10, 90], max_rounds=2, exit_on_score=90)).result
    assert reached.status == "completed"
    assert reached.loops[0].exit_reason == "score_threshold_reached"
    file = tmp_path / "missed.yaml"
    file.write_text(STUCK.replace("max_rounds: 6", "max_rounds: 2, exit_on_score: 90"))
    assert rondel("run", str(file), "--db", str(tmp_path / "db")).code == 3


@pytest.mark.parametrize("inner", SIZES)
def test_an_inner_loop_starts_at_one_whenever_it_is_entered(inner: int) -> None:
    """n8n's, Dify's and Langflow's users find the inner loop's counter where it was left."""
    played = play(nested(3, inner))
    assert played.times["leaf"] == 3 * inner
    started = [
        e.data["round"] for e in played.of("loop:round_started") if e.data["loop"] == "inner"
    ]
    assert started == [*range(1, inner + 1)] * 3


def test_the_exit_of_an_inner_loop_does_not_end_the_outer_one() -> None:
    """Google ADK's users see `escalate` of an inner loop end the outer loop as well."""
    graph = Graph("escalate")
    for name in ("outer", "inner", "gate", "done"):
        graph.node(id=name)(lambda inp: inp.address)
    graph.edge("outer", "inner")
    graph.edge("inner", "inner", when="round < 2")
    graph.edge("inner", "gate", when="round >= 2")
    graph.edge("gate", "outer")
    graph.edge("gate", "done", when=False)
    graph.loop("outer", max_rounds=3)
    graph.loop("inner", max_rounds=10)
    played = play(graph)
    assert played.times["inner"] == 6
    assert played.exits == [*[("inner", 2, "exit_edge")] * 3, ("outer", 3, "max_rounds_reached")]


@pytest.mark.parametrize("rounds", SIZES)
def test_the_cap_is_the_number_of_rounds(rounds: int) -> None:
    """Haystack's and CrewAI's users get one round more or less than they asked for."""
    played = play(counting(rounds))
    assert played.times == {"head": rounds, "body": rounds, "done": 1}
    assert played.exits == [("head", rounds, "max_rounds_reached")]


@pytest.mark.parametrize("inner", [1, 2, 5])
@pytest.mark.parametrize("outer", [1, 2, 3])
def test_the_cap_is_the_number_of_rounds_in_a_loop_in_a_loop(outer: int, inner: int) -> None:
    """Haystack's users get one round more or less, and more so where loops nest."""
    played = play(nested(outer, inner))
    assert played.times["leaf"] == outer * inner
    assert played.times["gate"] == outer


@pytest.mark.parametrize("rounds", SIZES)
async def test_the_cap_is_the_number_of_rounds_after_a_crash(rounds: int, tmp_path: Path) -> None:
    """CrewAI's users get the rounds before a crash once more, or counted twice."""

    for crash in range(1, rounds + 1):
        hang = Hang(crash)
        graph = counting(rounds, body=hang)
        db = tmp_path / f"{crash}.db"
        async with Engine(db) as first:
            session = await first.start(graph)
            await hang.hangs.wait()
        async with Engine(db) as second:
            result = await (await second.resume(session.id, graph)).result()
            assert (result.loops[0].rounds, result.output) == (rounds, f"round {rounds}")
        assert hang.runs == {n: 1 + (n == crash) for n in range(1, rounds + 1)}


@pytest.mark.parametrize("rounds", SIZES)
async def test_the_cap_is_the_number_of_rounds_in_a_fork(rounds: int) -> None:
    """LangGraph's users who travel back in time start to count where they left off, or anew."""

    async with Engine(db=None) as engine:
        parent = await engine.start(counting(rounds))
        await parent.result()
        for at in range(1, rounds + 1):
            fork = await parent.fork(f"head[{at}]")
            result = await fork.result()
            assert (result.loops[0].rounds, result.output) == (rounds, f"round {rounds}")
            assert len([s for s in fork.steps() if s.node_id == "body"]) == rounds


def test_tokens_are_counted_once_in_a_loop_in_a_loop() -> None:
    """CrewAI's and LangChain's users find the tokens of earlier rounds counted again each round."""

    def call(inp: Context) -> str:
        inp.charge(tokens(7))
        return inp.address

    played = play(with_breaker(nested(3, 2, call), "off"))
    assert played.result.usage.model_calls == len(played.steps) == 3 * (2 + 2 * 2) + 1
    assert played.result.usage.tokens == 7 * len(played.steps)
    rounds = played.of("loop:round_completed")
    assert [e.data["tokens"] for e in rounds if e.data["loop"] == "inner"] == [14] * 6
    assert [e.data["tokens"] for e in rounds if e.data["loop"] == "outer"] == [42] * 3


def test_a_question_in_a_loop_runs_no_finished_code_again() -> None:
    """LangGraph's users see the code before an interrupt run again with every answer."""
    runs: list[str] = []

    def note(inp: Context) -> str:
        runs.append(inp.address)
        return inp.text

    graph = Graph("interrupted")
    graph.node(id="writer")(note)
    graph.add("editor", "human", {"description": "good?"})
    graph.node(id="after")(note)
    graph.node(id="done")(note)
    graph.edge("writer", "editor")
    graph.edge("editor", "after")
    graph.edge("after", "writer")
    graph.edge("after", "done", when=False)
    graph.loop("writer", max_rounds=3)
    played = play(graph, answers=["one", "two", "three"])
    assert played.result.output == "three"
    times = Counter(runs)
    assert set(times.values()) == {1}
    assert times.total() == 7


def test_a_lock_holds_in_the_next_process(tmp_path: Path) -> None:
    """Users of breakers kept in memory restart the process, and the loop runs on."""
    file, db = tmp_path / "stuck.yaml", str(tmp_path / "db")
    file.write_text(STUCK)
    ran = rondel("run", str(file), "--db", db, "--json")
    assert ran.code == 5
    session = ran.lines[0]["session_id"]
    resumed = rondel("resume", session, "--db", db)
    assert resumed.code != 0
    assert "locked" in resumed.err
    assert "suspended_locked" in rondel("show", session, "--db", db).out
    opened = rondel("unlock", session, "--because", "seen it", "--json", "--db", db)
    assert opened.result["status"] == "completed"


async def _locked(engine: Engine) -> Session:
    session = await engine.start(Graph.loads(STUCK))
    assert (await session.settled()).status == "suspended_locked"
    return session


async def test_a_lock_holds_for_another_engine(tmp_path: Path) -> None:
    """Users of breakers kept in memory open the session elsewhere, and the loop runs on."""

    async with Engine(tmp_path / "db") as first:
        session = await _locked(first)
        done = len(session.steps())
    async with Engine(tmp_path / "db") as second:
        assert await second.recover() == []
        again = second.get(session.id)
        with pytest.raises(Exception, match="locked"):
            await again.resume()
        assert (await again.settled()).status == "suspended_locked"
        assert len(again.steps()) == done


@pytest.mark.parametrize("restarted", [False, True])
async def test_after_a_trip_a_session_goes_on_at_the_very_step(
    tmp_path: Path, restarted: bool
) -> None:
    """Users of breakers that raise have no way on after a trip but to start all over."""

    engine = Engine(tmp_path / "db")
    session = await _locked(engine)
    if restarted:
        await engine.close()
        engine = Engine(tmp_path / "db")
        session = engine.get(session.id)
    before = [step.address for step in session.steps() if step.status == "completed"]
    assert before == [f"Writer[{n}]/Writer" for n in range(1, 5)]
    await session.unlock("it is nearly there")
    result = await session.result()
    await engine.close()
    assert result.status == "completed"
    assert result.usage.model_calls == result.loops[0].rounds == 6


@pytest.mark.parametrize(("on_limit", "handed_on"), [("best", 2), ("last", 4)])
def test_the_best_round_is_handed_on_and_not_the_last(on_limit: str, handed_on: int) -> None:
    """Users of every engine get the last round, although an earlier one was better."""
    graph = refine([50, 80, 60, 55], max_rounds=4, exit_on_score=90, on_limit=on_limit)
    result = play(graph).result
    assert result.output == f"review {handed_on}"
    assert result.loops[0].best_round == 2
