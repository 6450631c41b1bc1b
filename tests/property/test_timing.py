"""Timing decides nothing: whatever ends first, the session is the same."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import defaultdict
from typing import Any

import msgspec
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rondel import Context, Emit, Engine, Event, Graph, Message, Outcome, Result
from rondel.sessions.records import StepRecord
from tests.property.harness import Jitter, executions, play
from tests.reference.generator import Case, graphs
from tests.unit.sessions.playing import play as play_graph
from tests.unit.sessions.playing import saying

CUT_SHORT = ("two_entries", "max_steps_reached", "step_failed")
"""Reasons that end a run wherever its steps have got to."""

CLOCK = ("timestamp", "duration")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def without_clock(value: Any) -> Any:
    """The same without what a clock said."""
    if isinstance(value, dict):
        return {key: without_clock(item) for key, item in value.items() if key not in CLOCK}
    if isinstance(value, list):
        return [without_clock(item) for item in value]
    return TIME.sub("TIME", value) if isinstance(value, str) else value


def fields(record: Any) -> Any:
    return without_clock(msgspec.to_builtins(record))


def outcome(result: Result) -> dict[str, Any]:
    told: dict[str, Any] = fields(result)
    del told["session_id"]
    return told


def told_per_node(events: list[Event]) -> dict[str | None, list[Any]]:
    """Per node and loop, its events in order, without their numbers."""
    found: dict[str | None, list[Any]] = defaultdict(list)
    for each in events:
        found[each.node_id].append((each.event, fields(each.data)))
    return dict(found)


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    case=graphs(scores=True),
    first=st.integers(0, 2**16),
    second=st.none() | st.integers(0, 2**16),
)
def test_shuffled_timing_gives_the_same_session(case: Case, first: int, second: int | None) -> None:
    runs = [
        asyncio.run(play(case.document, case.task, case.answers, jitter))
        for jitter in (first, second)
    ]
    (result, steps, events), (result2, steps2, events2) = runs
    event(result.reason or result.status)
    assert (result.status, result.reason) == (result2.status, result2.reason)
    if result.reason in CUT_SHORT:
        return
    assert outcome(result) == outcome(result2)
    assert executions(steps) == executions(steps2)
    assert [fields(step) for step in steps] == [fields(step) for step in steps2]
    assert told_per_node(events) == told_per_node(events2)


# Wide and deep concurrency, with parallel loops that all finish at other times


class Takes:
    """Takes some turns of the event loop, others every time, and says what it saw."""

    def __init__(self, turns: list[int]) -> None:
        self._turns = itertools.cycle(turns)

    async def process(self, ctx: Context) -> Outcome:
        for _ in range(next(self._turns)):
            await asyncio.sleep(0)
        heard = "+".join(message.text for message in ctx.messages)
        text = f"{ctx.node_id}{ctx.round}({heard})"
        return Emit([Message(text[-60:], {ctx.node_id: ctx.round, "last": ctx.node_id})])


def parallel_loops(widths: list[int], outer: int, ring: bool, turns: dict[str, list[int]]) -> Graph:
    """head -> loops side by side -> join -> head; in a `ring`, each hands data to the next."""
    graph = Graph("parallel loops", start="head", end="end")

    def node(name: str, **fields: Any) -> str:
        graph.add(name, Takes(turns.get(name) or [0]), **fields)
        return name

    node("head", context_window=-1)
    node("join", join="all", context_window=2)
    node("end")
    for number, rounds in enumerate(widths):
        first, last = node(f"a{number}"), node(f"b{number}", context_window=1)
        graph.edge("head", first)
        graph.edge(first, last)
        graph.edge(last, first)
        graph.edge(last, "join", label="limit")
        graph.edge(first, "join", trigger=False)
        if ring:
            graph.edge(first, f"b{(number + 1) % len(widths)}", trigger=False)
        graph.loop(first, max_rounds=rounds)
    graph.edge("join", "head")
    graph.edge("join", "end", label="limit")
    graph.loop("head", max_rounds=outer)
    return graph


async def watched(graph: Graph, jitter: int) -> tuple[Result, list[StepRecord], list[Event]]:
    """Run with a watcher that is there from the beginning."""
    async with asyncio.timeout(30), Engine(db=None, middleware=[Jitter(jitter)]) as engine:
        session = await engine.start(graph, "task")
        events = [each async for each in session.events()]
        return await session.result(), session.steps(), events


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    widths=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    outer=st.integers(1, 3),
    ring=st.booleans(),
    slow=st.lists(
        st.dictionaries(
            st.sampled_from(["head", "join", *(f"{side}{n}" for side in "ab" for n in range(4))]),
            st.lists(st.integers(0, 9), min_size=1, max_size=4),
        ),
        min_size=2,
        max_size=2,
    ),
    jitter=st.integers(0, 2**16),
)
def test_parallel_loops_in_a_loop_do_not_feel_each_others_pace(
    widths: list[int], outer: int, ring: bool, slow: list[dict[str, list[int]]], jitter: int
) -> None:
    (result, steps, events), (result2, steps2, events2) = (
        asyncio.run(watched(parallel_loops(widths, outer, ring, turns), jitter + place))
        for place, turns in enumerate(slow)
    )
    assert result.status == "completed"
    assert outcome(result) == outcome(result2)
    assert [fields(step) for step in steps] == [fields(step) for step in steps2]
    assert told_per_node(events) == told_per_node(events2)
    ran = [step.node_id for step in steps if step.node_id.startswith("a")]
    assert len(ran) == outer * sum(widths)


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(["h0", "h1", "h2", "h3"]))
def test_the_order_in_which_people_answer_changes_nothing(order: list[str]) -> None:
    graph = Graph("asked", end="e")
    graph.node(id="s")(lambda inp: "s")
    for name in sorted(order):
        graph.add(name, "human", {"description": f"{name}?"}, context_window=-1)
        graph.edge("s", name)
    graph.node(id="e")(lambda inp: " ".join(message.text for message in inp.messages))
    for name in sorted(order):
        graph.edge(name, "e")

    async def main() -> tuple[str | None, list[Any]]:
        async with asyncio.timeout(60), Engine(db=None) as engine:
            session = await engine.start(graph)
            await session.settled()
            for name in order:
                await session.answer(f"from {name}", node=name)
            result = await session.result()
            return result.output, [fields(step) for step in session.steps()]

    output, steps = asyncio.run(main())
    assert output == "from h0 from h1 from h2 from h3"
    assert [step["node_id"] for step in steps] == ["s", "h0", "h1", "h2", "h3", "e"]


def test_the_loops_of_a_result_come_in_an_order_without_a_clock() -> None:
    graph = saying(Graph("g", end="end"), "s", "a", "b", "end")
    for name in ("a", "b"):
        graph.edge("s", name)
        graph.edge(name, name)
        graph.edge(name, "end", label="limit")
        graph.loop(name, max_rounds=2)
    orders = {
        tuple(loop.loop for loop in play_graph(graph, middleware=[Jitter(seed)]).result.loops)
        for seed in range(20)
    }
    assert len(orders) == 1
