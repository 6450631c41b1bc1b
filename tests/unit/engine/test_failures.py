"""What goes wrong in a step: timeouts, retries, errors, and answers that make no sense."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Context, Emit, Engine, Graph, Message, Outcome
from rondel.engine.protocols import Exit
from rondel.errors import ModelError
from tests.unit.sessions.playing import Says, alone, chain, play, saying, until

QUICK = {"max_attempts": 3, "min_wait": "1ms", "max_wait": "2ms"}


class Flaky:
    """Fails some times, then answers."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.calls = 0
        self.times: list[float] = []
        self._failures = failures
        self._error = error or RuntimeError("not yet")

    def __call__(self, inp: Context) -> str:
        self.calls += 1
        self.times.append(time.monotonic())
        if self.calls <= self._failures:
            raise self._error
        return f"after {self.calls}"


# Timeouts


async def sleeps(inp: Context) -> str:
    await asyncio.sleep(600)
    return "awake"


def test_a_step_that_takes_too_long_fails_and_says_how_long_it_had() -> None:
    played = play(alone(sleeps, timeout="20ms"))
    result = played.result
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert result.message == "work: took longer than its timeout of 0.02 s"
    (error,) = played.of("error")
    assert error.data["kind"] == "timeout"
    assert played.status_of == {"work": "failed"}


def test_a_timeout_cancels_the_step_so_that_its_cleanup_runs() -> None:
    cleaned = []

    async def tidy(inp: Context) -> None:
        try:
            await asyncio.sleep(600)
        finally:
            cleaned.append(inp.address)

    play(alone(tidy, timeout="20ms"))
    assert cleaned == ["work"]


def test_a_timeout_is_per_attempt_and_a_retry_may_succeed() -> None:
    calls = []

    async def slow_at_first(inp: Context) -> str:
        calls.append(inp.attempt)
        await asyncio.sleep(0 if len(calls) == 3 else 600)
        return "made it"

    played = play(alone(slow_at_first, timeout="500ms", retry=QUICK))
    assert played.result.output == "made it"
    assert calls == [1, 2, 3]
    assert [e.data["kind"] for e in played.of("error")] == ["retry", "retry"]


def test_a_timeout_in_a_branch_with_on_error_continue_leaves_the_other_branch() -> None:
    graph = saying(Graph("g", end="e"), "s", "quick", "e")
    graph.node(id="slow", timeout="20ms", on_error="continue")(sleeps)
    chain(graph, "s", "slow", "e")
    chain(graph, "s", "quick", "e")
    played = play(graph)
    assert played.result.status == "completed"
    assert played.inputs("e") == [["quick"]]


def test_a_timeout_error_of_the_nodes_own_is_an_error_like_any_other() -> None:
    def impatient(inp: Context) -> None:
        raise TimeoutError("the printer")

    played = play(alone(impatient, timeout="20s"))
    assert played.result.message == "work: TimeoutError: the printer"
    (error,) = played.of("error")
    assert error.data["kind"] == "TimeoutError"


def test_a_step_within_its_timeout_is_left_alone() -> None:
    assert play(alone(Says("ok").process, timeout="5s")).result.output == "ok"


# Retries


@settings(max_examples=25, deadline=None)
@given(failures=st.integers(0, 4), attempts=st.integers(1, 4))
def test_a_node_is_tried_until_it_succeeds_or_its_attempts_are_used_up(
    failures: int, attempts: int
) -> None:
    flaky = Flaky(failures)
    retry = {"max_attempts": attempts, "min_wait": 0, "max_wait": 0}
    played = play(alone(flaky, retry=retry))
    assert flaky.calls == min(failures + 1, attempts)
    assert played.result.status == ("completed" if failures < attempts else "failed")
    retried = [e for e in played.of("error") if e.data["kind"] == "retry"]
    assert len(retried) == flaky.calls - 1
    assert all(e.data["error"] == "RuntimeError: not yet" for e in retried)
    assert len(played.steps) == 1


def test_the_waits_between_attempts_double_up_to_the_longest() -> None:
    flaky = Flaky(3)
    play(alone(flaky, retry={"max_attempts": 4, "min_wait": "20ms", "max_wait": "50ms"}))
    waits = [later - sooner for sooner, later in zip(flaky.times, flaky.times[1:], strict=False)]
    for wait, least in zip(waits, [0.02, 0.04, 0.05], strict=True):
        assert wait >= least * 0.95


def test_the_last_error_is_the_one_reported() -> None:
    errors = iter(["first", "second", "third"])

    def fails(inp: Context) -> None:
        raise ValueError(next(errors))

    result = play(alone(fails, retry=QUICK)).result
    assert result.message == "work: ValueError: third"


def test_a_model_error_that_asking_again_cannot_mend_is_not_retried() -> None:
    flaky = Flaky(9, ModelError("no such model", retryable=False))
    played = play(alone(flaky, retry=QUICK))
    assert flaky.calls == 1
    assert played.result.message == "work: no such model"


def test_a_model_error_that_may_pass_is_retried() -> None:
    flaky = Flaky(1, ModelError("busy"))
    assert play(alone(flaky, retry=QUICK)).result.output == "after 2"


def test_without_retry_a_node_is_tried_once() -> None:
    flaky = Flaky(1)
    assert play(alone(flaky)).result.status == "failed"
    assert flaky.calls == 1


def test_every_attempt_has_the_same_key_and_inputs() -> None:
    seen = []

    def fails_twice(inp: Context) -> str:
        seen.append((inp.idempotency_key, inp.text, inp.address, inp.rng.random()))
        if len(seen) < 3:
            raise RuntimeError
        return "done"

    play(alone(fails_twice, retry=QUICK), "the task")
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert seen[0][1] == "the task"


async def test_stopping_ends_the_wait_for_the_next_attempt() -> None:
    flaky = Flaky(9)
    graph = alone(flaky, retry={"max_attempts": 5, "min_wait": "30s", "max_wait": "30s"})
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await until(lambda: flaky.calls == 1)
        await session.stop()
        result = await session.settled()
    assert (result.status, flaky.calls) == ("cancelled", 1)


# Errors


def test_an_error_names_its_address_in_nested_loops() -> None:
    graph = saying(Graph("g", start="outer", end="out"), "outer", "out")

    @graph.node
    def inner(inp: Context) -> str:
        return f"{inp.rounds}"

    @graph.node
    def check(inp: Context) -> str:
        if [count for _, count in inp.rounds] == [2, 3]:
            raise ValueError("no more")
        return "ok"

    chain(graph, "outer", "inner", "check", "inner")
    graph.edge("check", "outer", label="limit")
    graph.edge("outer", "out", label="limit")
    graph.loop("inner", max_rounds=3)
    graph.loop("outer", max_rounds=3)
    played = play(graph)
    result = played.result
    assert result.message == "outer[2]/inner[3]/check: ValueError: no more"
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert played.exits[-2:] == [("inner", 3, "failed"), ("outer", 2, "failed")]
    assert played.events[-1].event == "session_state_change"
    assert played.events[-1].data["message"] == result.message


def test_an_error_of_many_lines_is_told_in_one() -> None:
    def fails(inp: Context) -> None:
        raise ValueError("first line\n  second line\n")

    assert play(alone(fails)).result.message == "work: ValueError: first line second line"


def test_an_error_without_text_is_told_by_its_type() -> None:
    def fails(inp: Context) -> None:
        raise KeyError

    assert play(alone(fails)).result.message == "work: KeyError"


def test_a_failing_branch_cancels_the_others() -> None:
    cleaned = []

    async def long(inp: Context) -> None:
        try:
            await asyncio.sleep(600)
        finally:
            cleaned.append("long")

    async def fails(inp: Context) -> None:
        await asyncio.sleep(0.01)
        raise ValueError("stop all")

    graph = saying(Graph("g"), "s")
    graph.node(id="long")(long)
    graph.node(id="fails")(fails)
    graph.edge("s", "long")
    graph.edge("s", "fails")
    assert play(graph).result.message == "fails: ValueError: stop all"
    assert cleaned == ["long"]


def test_a_failure_with_nothing_behind_it_is_no_success() -> None:
    def fails(inp: Context) -> None:
        raise ValueError

    result = play(alone(fails, on_error="continue")).result
    assert (result.status, result.reason) == ("failed", "no_output")


def test_private_state_is_as_before_after_a_failed_execution() -> None:
    """A step that fails leaves no half of its state behind."""
    seen = []

    class Counts:
        async def process(self, ctx: Context) -> Outcome:
            seen.append(ctx.state)
            if len(seen) == 2:
                raise RuntimeError
            return Emit([Message("x")], state=len(seen))

    graph = saying(Graph("g", start="head", end="out"), "head", "out")
    graph.add("counts", Counts(), on_error="continue")
    graph.edge("head", "counts")
    graph.edge("head", "head")
    graph.edge("counts", "head")
    graph.edge("head", "out", label="limit")
    graph.loop("head", max_rounds=3)
    play(graph)
    assert seen == [None, 1, 1]


# Wrong answers


@pytest.mark.parametrize("answer", [None, 5, "text", [Message("x")], {"a": 1}, object()])
def test_a_processor_that_returns_no_outcome_fails_its_step_by_name(answer: Any) -> None:
    class Wrong:
        async def process(self, ctx: Context) -> Any:
            return answer

    graph = Graph("g")
    graph.add("wrong", Wrong())
    result = play(graph).result
    assert (result.status, result.reason) == ("failed", "step_failed")
    name = type(answer).__name__
    assert result.message == f"wrong: node 'wrong' returned {name}, not an outcome"


@pytest.mark.parametrize(
    ("answer", "said"), [(None, "returned NoneType, not an outcome"), (5, "TypeError")]
)
def test_a_processor_that_cannot_be_awaited_fails_its_step(answer: Any, said: str) -> None:
    class Hasty:
        def process(self, ctx: Context) -> Any:
            return answer

    graph = Graph("g")
    graph.add("hasty", Hasty())
    result = play(graph).result
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert said in result.message


@pytest.mark.parametrize("answer", [5, 1.5, True, object(), {1, 2}, b"bytes", ["text", 5]])
def test_a_function_that_returns_what_is_no_message_fails_its_step(answer: Any) -> None:
    result = play(alone(lambda inp: answer)).result
    assert result.status == "failed"
    assert "it may return text, a dict, a Message, a list of these" in result.message
    assert result.message.startswith("work: node 'work'")


@pytest.mark.parametrize("messages", ["text", ["text"], None, [None], 5])
def test_an_emit_of_what_is_no_message_fails_its_step(messages: Any) -> None:
    result = play(alone(lambda inp: Emit(messages))).result
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert result.message.startswith("work: ")


# Conditions


def gated(condition: Any) -> Graph:
    graph = saying(Graph("g", end="e"), "s", "e")
    graph.edge("s", "e", when=condition)
    return graph


def test_a_condition_that_raises_fails_the_step_and_never_counts_as_true() -> None:
    played = play(gated(lambda message: 1 / 0))
    assert played.result.status == "failed"
    assert played.result.message == (
        "s: the condition of the edge s -> e failed on 's': ZeroDivisionError: division by zero"
    )
    assert played.status_of == {"s": "failed"}
    assert played.times["e"] == 0


def test_an_expression_that_asks_for_what_is_not_there_fails_the_step() -> None:
    played = play(gated("data.score >= 90"))
    assert played.result.status == "failed"
    assert played.result.message.startswith("s: ")
    assert "score" in played.result.message
    assert played.times["e"] == 0


def test_a_condition_that_raises_is_the_steps_failure_also_where_that_goes_on() -> None:
    graph = saying(Graph("g", end="e"), "s", "e", on_error="continue")
    graph.edge("s", "e", when=lambda message: 1 / 0)
    graph.edge("s", "e")
    played = play(graph)
    assert played.result.reason == "no_output"
    assert played.times["e"] == 0


def test_a_condition_that_is_async_is_refused() -> None:
    async def later(message: Message) -> bool:
        return True

    played = play(gated(later))
    assert played.result.status == "failed"
    assert "async" in played.result.message
    assert played.times["e"] == 0


@pytest.mark.parametrize(("value", "ran"), [(0, 0), ("", 0), (None, 0), (1, 1), ([1], 1)])
def test_a_condition_is_judged_as_python_judges_it(value: Any, ran: int) -> None:
    assert play(gated(lambda message: value)).times["e"] == ran


def test_a_condition_that_returns_a_text_is_told_so() -> None:
    played = play(gated(lambda message: "reject"))
    assert played.result.status == "failed"
    assert "returned 'reject', a text" in played.result.message
    assert "return True or False" in played.result.message


# Routers


class Routes:
    """A router that does as it is told."""

    def __init__(self, choose: Any) -> None:
        self._choose = choose

    async def process(self, ctx: Context) -> Outcome:
        return Emit([Message("routed")])

    def route(self, output: Emit, edges: Sequence[Exit]) -> Any:
        return self._choose(edges)


def routed(choose: Any) -> Graph:
    graph = Graph("g", end=["a", "b"])
    graph.add("r", Routes(choose))
    saying(graph, "a", "b")
    graph.edge("r", "a", label="left")
    graph.edge("r", "b", label="right")
    return graph


def test_a_router_sees_labels_and_targets_and_only_its_choice_fires() -> None:
    seen = []

    def choose(edges: Sequence[Exit]) -> list[Exit]:
        seen.extend((edge.label, edge.target) for edge in edges)
        return [edge for edge in edges if edge.label == "right"]

    played = play(routed(choose))
    assert seen == [("left", "a"), ("right", "b")]
    assert played.times == {"r": 1, "b": 1}


@pytest.mark.parametrize("nothing", [[], ()])
def test_a_router_that_chooses_nothing_leads_nowhere(nothing: Any) -> None:
    result = play(routed(lambda edges: nothing)).result
    assert (result.status, result.reason) == ("failed", "no_output")
    assert "r -> a" in result.message


@pytest.mark.parametrize("choice", [None, 5, ["left"], [None]])
def test_a_router_that_returns_no_edges_fails_the_step(choice: Any) -> None:
    played = play(routed(lambda edges: choice))
    assert (played.result.status, played.result.reason) == ("failed", "step_failed")
    assert played.times["a"] == played.times["b"] == 0


def test_a_router_that_raises_fails_the_step() -> None:
    result = play(routed(lambda edges: edges[7])).result
    assert result.message == "r: IndexError: list index out of range"


def test_a_chosen_edge_still_has_its_condition() -> None:
    graph = Graph("g", end=["a", "b"])
    graph.add("r", Routes(lambda edges: edges))
    saying(graph, "a", "b")
    graph.edge("r", "a", condition=False)
    graph.edge("r", "b")
    assert play(graph).times == {"r": 1, "b": 1}


# What is no Exception (see also test_exits.py)


def beside(function: Any) -> Graph:
    graph = saying(Graph("beside"), "s", "other")
    graph.node(id="work")(function)
    graph.edge("s", "work")
    graph.edge("s", "other")
    return graph


async def awaits_what_is_cancelled(inp: Context) -> None:
    """As when a client library cancels a request of its own."""
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


@pytest.mark.parametrize("graph", [alone, beside])
def test_a_node_that_is_cancelled_from_within_fails_its_step_and_does_not_hang(graph: Any) -> None:
    result = play(graph(awaits_what_is_cancelled)).result
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert "CancelledError" in result.message


def test_an_emit_of_what_is_no_message_says_what_is_wrong() -> None:
    message = play(alone(lambda inp: Emit(["text"]))).result.message  # type: ignore[list-item]
    assert "AttributeError" not in message
    assert "str" in message
    assert "Message" in message


def silent_inside(limit: int) -> Graph:
    """A graph in a node whose only end says something from its `limit`th trigger on."""
    counter = {"max_iterations": limit, "message": "enough"}
    inner = {
        "id": "inside",
        "nodes": [
            {"id": "in", "type": "passthrough"},
            {"id": "count", "type": "loop_counter", "config": counter},
        ],
        "edges": [{"from": "in", "to": "count"}],
    }
    return Graph.from_document(
        {
            "graph": {
                "id": "outside",
                "start": "S",
                "end": "after",
                "nodes": [
                    {"id": "S", "type": "subgraph", "config": {"graph": inner}},
                    {"id": "after", "type": "literal", "config": {"content": "went on"}},
                ],
                "edges": [{"from": "S", "to": "after"}],
            }
        }
    )


def test_a_subgraph_whose_ends_produced_nothing_emits_nothing_and_the_run_says_so() -> None:
    played = play(silent_inside(2))
    assert (played.result.status, played.result.reason) == ("failed", "no_output")
    assert "the graph in 'S' ('S/count')" in played.result.message
    assert "after" not in played.times
    assert [step.status for step in played.steps if step.node_id == "S"] == ["completed"]
    assert play(silent_inside(1)).result.output == "went on"


def test_conditions_that_held_nobody_are_named_with_the_node_that_they_are_in() -> None:
    graph = silent_inside(1)
    inner = graph.document["graph"]["nodes"][0]["config"]["graph"]
    inner["edges"][0]["condition"] = {"type": "keyword", "config": {"any": ["unsaid"]}}
    message = play(Graph.from_document(graph.document)).result.message
    assert "S/in -> S/count (keyword)" in message


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("data.score >= 90", 'data.score is a string ("85"); write double(data.score)'),
        ("data.score > data.least", "data.least is null; guard it with data.least != null && …"),
    ],
)
def test_a_condition_that_raises_names_the_edge_the_expression_and_what_it_met(
    expression: str, why: str
) -> None:
    graph = Graph("typed")
    data = {"score": "85"} if "least" not in expression else {"score": 85, "least": None}
    graph.node(id="critic")(lambda _inp: Message("so so", data))
    graph.node(id="done")(lambda inp: inp.text)
    graph.edge("critic", "done", when=expression)
    message = play(graph).result.message
    assert message.startswith("critic: the condition of the edge critic -> done failed on 'so so {")
    assert repr(expression) in message
    assert why in message


def test_an_edges_process_that_raises_is_blamed_on_the_edge() -> None:
    graph = Graph("processed")
    graph.node(id="a")(lambda _inp: "text " * 100)
    graph.node(id="b")(lambda inp: inp.text)
    graph.edge("a", "b", process=lambda message: message.data["missing"])
    message = play(graph).result.message
    assert message.startswith("a: the process of the edge a -> b failed on 'text text ")
    assert message.endswith("…': KeyError: 'missing'; the data of this message has no keys")
