"""Budgets: leave is asked for before each call, and no budget is overrun by more than one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Context, Engine, Graph
from tests.clock import Clock
from tests.unit.engine.refining import end_of, reason, tokens, with_breaker
from tests.unit.sessions.playing import limited, play, playing, until

Work = Callable[[Context], Awaitable[str]]


def calling(count: int, usd: float = 0.0, estimate: int | None = None) -> Work:
    """A node that makes one call, with leave."""

    async def call(inp: Context) -> str:
        expected = count if estimate is None else estimate
        await inp.reserve(lambda: tokens(expected, usd))
        await asyncio.sleep(0)
        inp.charge(tokens(count, usd))
        return f"{inp.node_id} {inp.round}"

    return call


def relay(*works: tuple[str, Work], **contract: Any) -> Graph:
    """A loop of these nodes, one after the other, which only its contract ends."""
    graph = Graph("relay")
    names = [name for name, _ in works]
    for name, work in works:
        graph.node(id=name)(work)
    graph.node(id="done")(lambda inp: inp.text or "nothing")
    for source, target in zip(names, [*names[1:], names[0]], strict=True):
        graph.edge(source, target)
    graph.edge(names[-1], "done", when=False)
    graph.loop(names[0], **contract)
    return with_breaker(graph, "off")


AGENT = """
graph:
  id: budget
  start: Writer
  breaker: off
  nodes:
    - id: Writer
      type: agent
      config:
        provider: scripted
        params: {{max_tokens: 60}}
        answers: [{{content: draft, usage: {{input_tokens: 40, output_tokens: 60}}}}]
    - {{id: Done, type: passthrough}}
  edges:
    - {{from: Writer, to: Writer}}
    - {{from: Writer, to: Done, condition: false}}
  {where}
"""


@pytest.mark.parametrize("budget", [1, 99, 100, 101, 199, 200, 250, 300])
def test_a_loop_of_agents_ends_with_the_call_that_uses_its_budget_up(budget: int) -> None:
    where = f"loops: {{Writer: {{max_rounds: 50, budget: {{tokens: {budget}}}}}}}"
    played = play(Graph.loads(AGENT.format(where=where)))
    calls = -(-budget // 100)
    assert end_of(played, "Writer") == ("budget_exhausted", calls, 100 * calls, budget)
    assert played.result.usage.tokens == 100 * calls
    assert (played.result.status, played.result.output) == ("completed", "draft")


def test_a_budget_in_money_works_the_same() -> None:
    played = play(relay(("a", calling(10, usd=0.25)), budget={"usd": 0.6}))
    assert end_of(played, "a") == ("budget_exhausted", 3, 0.75, 0.6)


def test_the_first_of_several_bounds_is_told() -> None:
    played = play(relay(("a", calling(10, usd=0.25)), budget={"usd": 0.5, "tokens": 1000}))
    assert end_of(played, "a") == ("budget_exhausted", 2, 0.5, 0.5)
    played = play(relay(("a", calling(10, usd=0.25)), budget={"usd": 0.5, "tokens": 15}))
    assert end_of(played, "a") == ("budget_exhausted", 2, 20, 15)


def test_a_call_without_leave_is_counted_all_the_same() -> None:
    async def call(inp: Context) -> str:
        inp.charge(tokens(10))
        return "x"

    assert end_of(play(relay(("a", call), budget={"tokens": 25})), "a")[1:] == (3, 30, 25)


# Many at once


class Crowd:
    """Calls of one price that watch how many of them are in flight."""

    def __init__(self, price: int) -> None:
        self._price = price
        self.made = 0
        self.flying = 0
        self.peak = 0

    async def call(self, inp: Context) -> str:
        await inp.reserve(lambda: tokens(self._price))
        self.flying += 1
        self.peak = max(self.peak, self.flying)
        for _ in range(3):
            await asyncio.sleep(0)
        self.flying -= 1
        self.made += 1
        inp.charge(tokens(self._price))
        return inp.node_id


def crowd_of_nodes(crowd: Crowd, size: int, budget: int) -> Graph:
    """So many nodes at once in a loop."""
    graph = Graph("crowd")
    graph.node(id="split")(lambda _inp: "go")
    graph.node(id="join")(lambda _inp: "joined")
    graph.node(id="done")(lambda _inp: "done")
    for number in range(size):
        graph.node(id=f"n{number}")(crowd.call)
        graph.edge("split", f"n{number}")
        graph.edge(f"n{number}", "join")
    graph.edge("join", "split")
    graph.edge("join", "done", when=False)
    graph.loop("split", max_rounds=3, budget={"tokens": budget})
    return with_breaker(graph, "off")


def crowd_of_parts(crowd: Crowd, size: int, budget: int) -> Graph:
    """One node in a loop that makes so many calls at once, each a durable part."""

    async def work(inp: Context) -> str:
        parts = [inp.substep(f"part {n}", lambda: crowd.call(inp)) for n in range(size)]
        await asyncio.gather(*parts)
        return "all"

    return relay(("work", work), max_rounds=3, budget={"tokens": budget})


@pytest.mark.parametrize("crowded", [crowd_of_nodes, crowd_of_parts])
@settings(max_examples=30, deadline=None)
@given(size=st.integers(1, 10), budget=st.integers(1, 3500), price=st.integers(1, 100))
def test_a_budget_is_never_overrun_by_more_than_one_call(
    crowded: Callable[[Crowd, int, int], Graph], size: int, budget: int, price: int
) -> None:
    crowd = Crowd(price)
    played = play(crowded(crowd, size, budget))
    spent = played.result.usage.tokens
    assert spent == crowd.made * price
    assert spent < budget + price
    if spent < budget:
        assert crowd.made == 3 * size
    assert played.result.status == "completed"


def test_calls_that_fit_into_the_budget_run_at_once() -> None:
    crowd = Crowd(100)
    play(crowd_of_nodes(crowd, 10, 100_000))
    assert crowd.peak == 10
    alone = Crowd(100)
    play(crowd_of_nodes(alone, 10, 150))
    assert alone.peak == 1


def test_who_comes_first_is_served_first() -> None:
    """A small call does not overtake a large one that waits for room in the same budget."""
    made: list[int] = []

    def call(price: int) -> Work:
        async def work(inp: Context) -> str:
            await inp.reserve(lambda: tokens(price))
            made.append(price)
            await asyncio.sleep(0.002)
            inp.charge(tokens(price))
            return "x"

        return work

    graph = Graph("queue")
    graph.node(id="split")(lambda _inp: "go")
    for price in (100, 250, 50, 40):
        graph.node(id=f"n{price}")(call(price))
        graph.edge("split", f"n{price}")
    graph.limits(tokens=300)
    assert play(with_breaker(graph, "off")).result.reason == "budget_exhausted"
    assert made == [100, 250]


def test_a_call_of_which_nothing_is_known_is_made_alone() -> None:
    flying: list[int] = [0]

    async def work(inp: Context) -> str:
        await inp.reserve(lambda: None)
        flying.append(flying[-1] + 1)
        await asyncio.sleep(0)
        flying.append(flying[-1] - 1)
        inp.charge(tokens(10))
        return "x"

    graph = Graph("unknown")
    graph.node(id="split")(lambda _inp: "go")
    for number in range(5):
        graph.node(id=f"n{number}")(work)
        graph.edge("split", f"n{number}")
    graph.limits(tokens=1_000_000)
    assert play(with_breaker(graph, "off")).result.status == "completed"
    assert max(flying) == 1


@pytest.mark.parametrize("budget", [250, 100_000])
def test_agents_at_once_share_a_budget(budget: int) -> None:
    agent = {
        "provider": "scripted",
        "params": {"max_tokens": 100},
        "answers": [{"content": "x", "delay": 0.001, "usage": {"output_tokens": 100}}],
    }
    graph = Graph("agents")
    graph.node(id="split")(lambda _inp: "go")
    graph.node(id="join")(lambda _inp: "joined")
    graph.node(id="done")(lambda _inp: "done")
    for number in range(10):
        graph.add(f"a{number}", "agent", agent)
        graph.edge("split", f"a{number}")
        graph.edge(f"a{number}", "join")
    graph.edge("join", "split")
    graph.edge("join", "done", when=False)
    graph.loop("split", max_rounds=1, budget={"tokens": budget})
    spent = play(with_breaker(graph, "off")).result.usage.tokens
    assert spent == (1000 if budget > 1000 else 300)


def test_a_call_that_fails_gives_its_reservation_back() -> None:
    async def work(inp: Context) -> str:
        async def fails() -> None:
            await inp.reserve(lambda: tokens(90))
            raise ValueError("no answer")

        async def succeeds() -> str:
            await asyncio.sleep(0.001)
            await inp.reserve(lambda: tokens(90))
            inp.charge(tokens(10))
            return "answered"

        first, second = await asyncio.gather(fails(), succeeds(), return_exceptions=True)
        assert isinstance(first, ValueError)
        return str(second)

    played = play(relay(("work", work), max_rounds=1, budget={"tokens": 100}))
    assert played.result.output == "answered"


def test_an_attempt_that_fails_gives_its_reservation_back() -> None:
    async def work(inp: Context) -> str:
        await inp.reserve(lambda: tokens(90))
        if inp.attempt == 1:
            raise ValueError("no answer")
        inp.charge(tokens(10))
        return "answered"

    graph = relay(("work", work), max_rounds=1, budget={"tokens": 100})
    retry = {"max_attempts": 2, "min_wait": "1ms", "max_wait": "1ms"}
    graph.document["graph"]["nodes"][0]["retry"] = retry
    assert play(graph).result.output == "answered"


def test_a_refusal_in_a_task_group_is_a_refusal() -> None:
    async def work(inp: Context) -> str:
        async def call() -> None:
            await inp.reserve(lambda: tokens(60))
            await asyncio.sleep(0.001)
            inp.charge(tokens(60))

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(call())
        return "all"

    played = play(relay(("work", work), max_rounds=1, budget={"tokens": 100}))
    assert reason(played, "work") == "budget_exhausted"
    assert played.result.status == "completed"


# A round that is cut short


def test_a_round_cut_short_hands_on_the_last_whole_one() -> None:
    graph = relay(("a", calling(60)), ("b", calling(60)), budget={"tokens": 170})
    played = play(graph)
    assert end_of(played, "a") == ("budget_exhausted", 2, 180, 170)
    assert played.result.output == "b 1"
    assert [s.status for s in played.steps if s.node_id == "b"] == ["completed", "skipped"]


def test_a_round_cut_short_after_its_source_spoke_is_handed_on() -> None:
    graph = relay(("a", calling(60)), ("b", calling(60)), ("c", calling(60)))
    graph.document["graph"]["edges"][-1]["from"] = "b"
    graph.loop("a", max_rounds=9, budget={"tokens": 280})
    assert play(graph).result.output == "b 2"


def test_a_first_round_cut_short_hands_on_an_empty_trigger() -> None:
    graph = relay(("a", calling(60)), ("b", calling(60)), budget={"tokens": 50})
    played = play(graph)
    assert played.result.output == "nothing"
    assert played.inputs("done") == [[]]


def test_nothing_new_starts_in_a_round_that_was_cut() -> None:
    async def free(inp: Context) -> str:
        return f"free {inp.round}"

    graph = relay(("a", calling(60)), ("b", calling(60)), ("c", free), budget={"tokens": 50})
    played = play(graph)
    assert "c" not in played.times
    assert [e.data["status"] for e in played.of("node_state_change", "c")] == ["skipped"]


def test_steps_under_way_finish_when_another_is_refused() -> None:
    finished = []

    async def slow(inp: Context) -> str:
        await asyncio.sleep(0.05)
        finished.append(inp.address)
        return "slow"

    async def twice(inp: Context) -> str:
        for _ in range(2):
            await inp.reserve(lambda: tokens(60))
            inp.charge(tokens(60))
        return "never"

    graph = crowd_of_nodes(Crowd(1), 0, 50)
    for name, work in (("slow", slow), ("twice", twice)):
        graph.node(id=name)(work)
        graph.edge("split", name)
        graph.edge(name, "join")
    played = play(graph)
    assert finished == ["split[1]/slow"]
    assert "join" not in played.times
    assert played.exits == [("split", 1, "budget_exhausted")]


def test_the_best_round_is_handed_on_when_the_budget_is_gone() -> None:
    async def critic(inp: Context) -> Any:
        await inp.reserve(lambda: tokens(60))
        inp.charge(tokens(60))
        return {"score": [50, 80, 60][inp.round - 1]}

    graph = relay(("a", calling(1)), ("critic", critic), budget={"tokens": 170}, on_limit="best")
    played = play(graph)
    assert played.result.loops[0].best_round == 2
    assert played.steps[-1].inputs[0]["data"] == {"score": 80}


def test_a_budget_gone_may_fail_the_session() -> None:
    played = play(relay(("a", calling(60)), budget={"tokens": 50}, on_limit="fail"))
    assert (played.result.status, played.result.reason) == ("failed", "budget_exhausted")
    assert played.exits == [("a", 1, "budget_exhausted")]


# Loops in loops, and subgraphs


def nested(outer: dict[str, Any], inner: dict[str, Any], price: int = 10) -> Graph:
    """A loop that spends, in a loop that does not."""
    graph = Graph("nested")
    graph.node(id="outer")(lambda inp: f"outer {inp.round}")
    graph.node(id="inner")(calling(price))
    graph.node(id="gate")(lambda inp: inp.text or "cut")
    graph.node(id="done")(lambda inp: inp.text or "nothing")
    graph.edge("outer", "inner")
    graph.edge("inner", "inner")
    graph.edge("inner", "gate", when=False)
    graph.edge("gate", "outer")
    graph.edge("gate", "done", when=False)
    graph.loop("outer", **outer)
    graph.loop("inner", **inner)
    return with_breaker(graph, "off")


def test_an_inner_budget_ends_the_inner_loop_alone_and_is_new_at_every_entry() -> None:
    played = play(nested({"max_rounds": 3}, {"budget": {"tokens": 25}}))
    assert played.exits == [
        *[("inner", 3, "budget_exhausted")] * 3,
        ("outer", 3, "max_rounds_reached"),
    ]
    assert played.result.usage.tokens == 90


def test_an_outer_budget_ends_both_loops() -> None:
    played = play(nested({"max_rounds": 3, "budget": {"tokens": 45}}, {"max_rounds": 3}))
    assert played.exits == [
        ("inner", 3, "max_rounds_reached"),
        ("inner", 3, "budget_exhausted"),
        ("outer", 2, "budget_exhausted"),
    ]
    assert played.result.usage.tokens == 50
    assert played.result.output == "inner 3"


def test_an_outer_budget_leaves_an_inner_loop_without_asking_or_failing() -> None:
    for on_limit in ("human", "fail"):
        inner = {"max_rounds": 9, "on_limit": on_limit}
        played = play(nested({"budget": {"tokens": 45}}, inner))
        assert played.result.status == "completed", on_limit
        assert played.exits[-1] == ("outer", 1, "budget_exhausted")


def test_calls_in_a_subgraph_are_the_loops_calls() -> None:
    agent = {
        "provider": "scripted",
        "answers": [{"content": "x", "usage": {"output_tokens": 100}}],
    }
    nodes = [{"id": "one", "type": "agent", "config": agent}]
    nodes.append({"id": "two", "type": "agent", "config": agent})
    inner = {"id": "inner", "nodes": nodes, "edges": [{"from": "one", "to": "two"}]}
    graph = Graph.from_document(
        {
            "graph": {
                "id": "around",
                "start": "S",
                "breaker": "off",
                "nodes": [
                    {"id": "S", "type": "subgraph", "config": {"graph": inner}},
                    {"id": "done", "type": "passthrough"},
                ],
                "edges": [
                    {"from": "S", "to": "S"},
                    {"from": "S", "to": "done", "condition": False},
                ],
                "loops": {"S": {"budget": {"tokens": 250}}},
            }
        }
    )
    played = play(graph)
    assert end_of(played, "S") == ("budget_exhausted", 2, 300, 250)
    assert played.times == {"S": 2, "S/one": 2, "S/two": 2, "done": 1}
    assert played.result.output == "x"


# Time


def taking(clock: Clock, seconds: float) -> Work:
    async def work(inp: Context) -> str:
        clock.time += seconds
        return f"{inp.node_id} {inp.round}"

    return work


def test_wall_time_ends_a_loop(clock: Clock) -> None:
    played = play(relay(("a", taking(clock, 2)), budget={"wall_time": "5s"}))
    assert end_of(played, "a") == ("budget_exhausted", 3, 6, 5)


def test_a_loop_starts_its_wall_time_when_it_is_entered(clock: Clock) -> None:
    graph = relay(("a", taking(clock, 2)), budget={"wall_time": "5s"})
    graph.node(id="before")(taking(clock, 100))
    graph.edge("before", "a")
    assert end_of(play(graph), "a") == ("budget_exhausted", 3, 6, 5)


def waiting_loop(clock: Clock, **contract: Any) -> Graph:
    graph = Graph("waiting")
    graph.node(id="a")(taking(clock, 2))
    graph.add("ask", "human", {"description": "?"})
    graph.node(id="done")(lambda inp: inp.text)
    graph.edge("a", "ask")
    graph.edge("ask", "a")
    graph.edge("ask", "done", when=False)
    graph.loop("a", **contract)
    return graph


def answered_late(clock: Clock, graph: Graph) -> Any:
    async def main() -> Any:
        async with Engine(db=None) as engine:
            session = await engine.start(graph)
            while (await session.settled()).status == "waiting":
                clock.time += 1000
                await session.answer("yes")
            return session.snapshot()

    return limited(main())


def test_waiting_for_somebody_is_not_wall_time(clock: Clock) -> None:
    result = answered_late(clock, waiting_loop(clock, budget={"wall_time": "5s"}))
    assert (result.loops[0].exit_reason, result.loops[0].rounds) == ("budget_exhausted", 3)
    assert (result.loops[0].value, result.loops[0].threshold) == (6, 5)


def test_waiting_for_somebody_is_not_wall_time_of_the_run(clock: Clock) -> None:
    graph = waiting_loop(clock, max_rounds=9)
    graph.limits(wall_time="5s")
    result = answered_late(clock, graph)
    assert (result.status, result.reason) == ("failed", "budget_exhausted")
    assert result.loops[0].rounds == 3
    graph.limits(wall_time="1m")
    assert answered_late(clock, graph).status == "completed"


async def test_a_pause_and_a_night_without_a_process_are_not_wall_time(
    clock: Clock, tmp_path: Path
) -> None:
    graph = waiting_loop(clock, budget={"wall_time": "5s"})

    async with Engine(tmp_path / "db") as engine:
        session = await engine.start(graph)
        await session.settled()
        await session.pause()
        clock.time += 1000
    clock.time += 50_000
    async with Engine(tmp_path / "db") as engine:
        session = await engine.resume(session.id, graph)
        clock.time += 1000
        while (await session.settled()).status == "waiting":
            await session.answer("yes")
        assert session.snapshot().loops[0].value == 6


@pytest.mark.parametrize("first", ["resume", "answer", "signal", "pause"])
async def test_whoever_takes_a_session_up_again_the_time_between_is_not_wall_time(
    clock: Clock, tmp_path: Path, first: str
) -> None:
    """The process dies while one branch waits for somebody and another is under way."""
    hangs = asyncio.Event()
    hung: list[str] = []

    async def work(inp: Context) -> str:
        if not hung:
            hung.append(inp.address)
            hangs.set()
            await asyncio.Event().wait()
        return "worked"

    graph = Graph("night", start=["ask", "work"], end=["done"])
    graph.add("ask", "human", {"description": "?"})
    graph.node(id="work")(work)
    graph.node(id="done")(calling(1))
    graph.edge("ask", "done")
    graph.edge("work", "done")
    graph.limits(wall_time="10m")

    async with Engine(tmp_path / "db") as engine:
        session = await engine.start(graph)
        await hangs.wait()
        await until(lambda: bool(session.questions()))
    clock.time += 50_000
    async with Engine(tmp_path / "db") as engine:
        session = engine.get(session.id)
        session.use(graph)
        if first == "answer":
            await session.answer("yes")
        elif first == "signal":
            await session.signal("hello")
        elif first == "pause":
            await session.pause()
        if session.status in ("running", "paused"):
            await session.resume()
        if session.questions():
            await session.answer("yes")
        result = await session.settled()
        assert (result.status, result.reason) == ("completed", "")


# The whole run


def test_the_limits_of_the_graph_fail_the_run() -> None:
    limits = "limits: {tokens: 250}"
    played = play(Graph.loads(AGENT.format(where=limits)))
    assert (played.result.status, played.result.reason) == ("failed", "budget_exhausted")
    assert played.result.usage.tokens == 300
    assert played.exits == [("Writer", 4, "budget_exhausted")]
    assert "graph.limits" in played.result.message


def test_the_limits_of_the_graph_count_what_is_outside_loops() -> None:
    graph = Graph("line")
    for name in ("a", "b", "c"):
        graph.node(id=name)(calling(60))
    graph.edge("a", "b")
    graph.edge("b", "c")
    graph.limits(tokens=100)
    refused = play(graph).result
    assert (refused.status, refused.reason, refused.usage.tokens) == (
        "failed",
        "budget_exhausted",
        120,
    )
    graph.limits(tokens=121)
    assert play(graph).result.status == "completed"


def test_a_budget_of_the_loop_comes_before_that_of_the_run() -> None:
    graph = relay(("a", calling(60)), budget={"tokens": 100})
    graph.limits(tokens=1000)
    assert play(graph).result.status == "completed"


# Somebody is asked


def test_continue_makes_the_call_that_was_refused() -> None:
    graph = relay(("a", calling(60)), ("b", calling(60)), max_rounds=5)
    graph.loop("a", max_rounds=5, budget={"tokens": 50}, on_limit="human")
    played = play(graph, answers=["continue", "best"])
    assert played.result.usage.tokens == 120
    assert played.times == {"a": 1, "b": 1, "done": 1}
    assert played.result.output == "b 1"
    assert reason(played, "a") == "budget_exhausted"


async def test_the_question_says_what_was_spent_and_shows_the_refused_step_as_suspended() -> None:
    graph = relay(("a", calling(60)), ("b", calling(60)))
    graph.loop("a", max_rounds=5, budget={"tokens": 50}, on_limit="human")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        result = await session.settled()
        assert (result.status, result.reason) == ("waiting", "question_open")
        (question,) = session.asking
        assert (question.node_id, question.address) == ("a", "a[1]")
        assert "60 of 50" in question.description
        assert [(s.node_id, s.status) for s in session.steps()] == [
            ("a", "completed"),
            ("b", "suspended"),
        ]


@pytest.mark.parametrize("answer", ["best", "stop"])
def test_a_refused_call_is_not_made_if_nobody_wants_it(answer: str) -> None:
    graph = relay(("a", calling(60)), ("b", calling(60)))
    graph.loop("a", max_rounds=5, budget={"tokens": 50}, on_limit="human")
    played = play(graph, answers=[answer])
    assert played.result.usage.tokens == 60
    assert played.result.status == ("completed" if answer == "best" else "cancelled")
    assert reason(played, "a") == "budget_exhausted"


def test_every_continue_gives_the_same_budget_again() -> None:
    graph = relay(("a", calling(10)))
    graph.loop("a", max_rounds=50, budget={"tokens": 25}, on_limit="human")
    played = play(graph, answers=["continue", "continue", "best"])
    asked = [e.data["description"] for e in played.of("human_input_required")]
    assert ["30 of 25" in asked[0], "50 of 50" in asked[1], "80 of 75" in asked[2]] == [True] * 3
    assert end_of(played, "a") == ("budget_exhausted", 8, 80, 75)


def test_several_refused_calls_ask_once_and_are_all_made() -> None:
    crowd = Crowd(60)
    graph = crowd_of_nodes(crowd, 4, 50)
    graph.loop("split", max_rounds=1, budget={"tokens": 50}, on_limit="human")
    played = play(graph, answers=[*["continue"] * 3, "best"])
    assert crowd.made == 4
    assert played.times["join"] == 1
    assert played.result.status == "completed"


async def test_a_refused_call_waits_for_an_answer_in_another_process(tmp_path: Path) -> None:
    graph = relay(("a", calling(60)), ("b", calling(60)))
    graph.loop("a", max_rounds=5, budget={"tokens": 50}, on_limit="human")

    async with Engine(tmp_path / "db") as engine:
        session = await engine.start(graph)
        assert (await session.settled()).status == "waiting"
    async with Engine(tmp_path / "db") as engine:
        session = engine.get(session.id)
        session.use(graph)
        await session.answer("continue")
        assert (await session.settled()).usage.tokens == 120
        await session.answer("best")
        assert (await session.settled()).output == "b 1"


async def test_what_was_spent_before_a_restart_is_spent(tmp_path: Path) -> None:
    hung: list[str] = []
    hangs = asyncio.Event()
    pay = calling(60)

    async def work(inp: Context) -> str:
        if inp.round == 2 and not hung:
            hung.append(inp.address)
            hangs.set()
            await asyncio.Event().wait()
        return await pay(inp)

    graph = relay(("a", work), budget={"tokens": 150})

    async with Engine(tmp_path / "db") as engine:
        session = await engine.start(graph)
        await hangs.wait()
    async with Engine(tmp_path / "db") as engine:
        result = await (await engine.resume(session.id, graph)).result()
        assert (result.loops[0].rounds, result.loops[0].value) == (3, 180)


async def test_an_inner_loop_that_asks_starts_nothing_once_the_outer_one_is_cut() -> None:
    rounds: list[int] = []

    async def spends(inp: Context) -> str:
        await asyncio.sleep(0.02)
        for _ in range(2):
            await inp.reserve(lambda: tokens(60))
            inp.charge(tokens(60))
        return "never"

    graph = nested({"budget": {"tokens": 50}}, {"max_rounds": 1, "on_limit": "human"}, price=0)
    graph.document["graph"]["nodes"].pop(1)
    graph.node(id="inner")(lambda inp: (rounds.append(inp.round), "x")[1])
    graph.node(id="spends")(spends)
    graph.edge("outer", "spends")
    graph.edge("spends", "gate")
    played = await playing(graph, answers=["continue"])
    assert played.result.status == "completed"
    assert rounds == [1]


def paid(*texts: str, used: int) -> dict[str, Any]:
    """The config of an agent that takes so many tokens a call."""
    answers = [{"content": text, "usage": {"input_tokens": used}} for text in texts]
    return {"provider": "scripted", "answers": answers, "params": {"max_tokens": 10}}


def cut_in_round_1(kind: str, config: dict[str, Any]) -> Graph:
    """A loop with a budget of 100 tokens whose way out leads from the node that is cut off."""
    return Graph.from_document(
        {
            "graph": {
                "id": "cut",
                "start": "W",
                "end": "Done",
                "loops": {"W": {"budget": {"tokens": 100}}},
                "nodes": [
                    {"id": "W", "type": "agent", "config": paid("draft", used=40)},
                    {"id": "D", "type": kind, "config": config},
                    {"id": "Done", "type": "passthrough"},
                ],
                "edges": [
                    {"from": "W", "to": "D"},
                    {"from": "D", "to": "W"},
                    {"from": "D", "to": "Done", "label": "limit"},
                ],
            }
        }
    )


def test_a_budget_that_does_not_last_for_a_round_names_itself() -> None:
    graph = cut_in_round_1("agent", paid("critique", used=60))
    graph.document["graph"]["loops"]["W"]["budget"]["tokens"] = 40
    result = play(Graph.from_document(graph.document)).result
    assert (result.status, result.reason) == ("failed", "budget_exhausted")
    assert "the budget of the loop 'W' was used up in its first round (40 of 40)" in result.message


def test_a_debate_that_was_paid_for_and_cut_off_was_not_skipped() -> None:
    agents = {"A": paid("for", used=60), "B": paid("against", used=60)}
    debate = {"agents": agents, "agent_pairs": [["A", "B"], ["B", "A"]], "max_rounds": 2}
    played = play(cut_in_round_1("debate", debate))
    assert played.result.reason == "budget_exhausted"
    (step,) = [step for step in played.steps if step.node_id == "D"]
    assert (step.status, step.usage.model_calls) == ("failed", 1)
    assert "budget" in (step.error or "")
    assert [e.data["status"] for e in played.of("node_state_change", "D")] == ["running", "failed"]
