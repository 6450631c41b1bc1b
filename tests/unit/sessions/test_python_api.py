"""Graphs written in Python, and the engine they are given to."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import rondel
from rondel import (
    NOTHING,
    Context,
    Emit,
    Engine,
    Graph,
    GraphError,
    Message,
    Outcome,
    Processor,
    Registry,
    Router,
    Session,
    Usage,
    Verdict,
)
from rondel.engine.protocols import Exit, Handler, Lock
from rondel.errors import CallError, UnknownSession
from rondel.sessions.registry import builtin_registry
from tests.unit.sessions.playing import Says, chain, play, saying


def problems(graph: Graph) -> list[str]:
    """What is wrong with a graph, each as one line."""
    with pytest.raises(GraphError) as caught:
        graph.plan()
    return [str(problem) for problem in caught.value.problems]


# Nodes


def test_a_nodes_id_is_the_functions_name_unless_one_is_given() -> None:
    graph = Graph("g")

    @graph.node
    def first(inp: Context) -> str:
        return inp.node_id

    @graph.node(id="the second")
    def second(inp: Context) -> str:
        return f"{inp.text}, {inp.node_id}"

    graph.edge("first", "the second")
    assert play(graph).result.output == "first, the second"
    assert first.__name__ == "first"
    assert second.__name__ == "second"


def test_a_node_takes_the_fields_of_the_file() -> None:
    graph = Graph("g")
    retry = {"max_attempts": 2, "min_wait": "10ms", "max_wait": "20ms"}
    graph.node(
        id="n",
        join="all",
        context_window=3,
        timeout="90s",
        retry=retry,
        on_error="continue",
        description="what it is",
    )(lambda inp: "x")
    (node,) = graph.spec.nodes
    assert (node.join, node.context_window, node.timeout, node.on_error) == (
        "all",
        3,
        90.0,
        "continue",
    )
    assert (node.retry.max_attempts, node.retry.min_wait, node.retry.max_wait) == (2, 0.01, 0.02)
    assert node.description == "what it is"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"timeot": 3}, "timeout"),
        ({"join": "some"}, "join"),
        ({"timeout": "soon"}, "timeout"),
        ({"context_window": -2}, "context_window"),
        ({"retry": {"max_attempts": 0}}, "max_attempts"),
        ({"on_error": "ignore"}, "on_error"),
    ],
)
def test_a_wrong_field_of_a_node_is_an_error_that_names_it(
    fields: dict[str, Any], word: str
) -> None:
    graph = Graph("g")
    graph.node(id="n", **fields)(lambda inp: "x")
    assert any(word in problem for problem in problems(graph))


def test_a_sync_function_runs_in_the_event_loops_thread_and_a_blocking_one_does_not() -> None:
    here = threading.get_ident()
    threads: dict[str, int] = {}

    def note(inp: Context) -> str:
        threads[inp.node_id] = threading.get_ident()
        return "x"

    graph = Graph("g")
    graph.node(id="sync")(note)
    graph.node(id="blocking", blocking=True)(note)
    graph.edge("sync", "blocking")
    play(graph)
    assert threads["sync"] == here
    assert threads["blocking"] != here


def test_blocking_nodes_run_side_by_side() -> None:
    barrier = threading.Barrier(3, timeout=60)

    def meets(inp: Context) -> str:
        barrier.wait()
        return "met"

    graph = saying(Graph("g"), "s")
    for name in ("a", "b", "c"):
        graph.node(id=name, blocking=True)(meets)
        graph.edge("s", name)
    assert play(graph).result.output == "met"


def test_an_async_function_needs_no_thread() -> None:
    async def coroutine(inp: Context) -> str:
        return "x"

    with pytest.raises(CallError, match="blocking"):
        Graph("g").node(id="n", blocking=True)(coroutine)


def test_anything_that_can_be_called_is_a_node() -> None:
    class Adder:
        def __init__(self, amount: int) -> None:
            self.amount = amount

        def __call__(self, inp: Context) -> str:
            return str(int(inp.text or "0") + self.amount)

        async def later(self, inp: Context) -> str:
            return str(int(inp.text) * 10)

    graph = Graph("g")
    graph.node(id="one")(Adder(1))
    graph.node(id="two")(Adder(2).__call__)
    graph.node(id="ten")(Adder(0).later)
    chain(graph, "one", "two", "ten")
    assert play(graph).result.output == "30"


def test_a_duplicate_id_is_an_error() -> None:
    graph = saying(Graph("g"), "a", "a")
    assert any("'a' is taken already" in problem for problem in problems(graph))


def test_all_problems_come_at_once() -> None:
    graph = saying(Graph("g", start="a"), "a")
    graph.add("b", "agnet")
    graph.edge("a", "nowhere")
    graph.edge("a", "b", when="1 +")
    graph.loop("a", max_rounds=0)
    found = problems(graph)
    assert len(found) == 4
    for word in ("agnet", "nowhere", "edges[1]", "max_rounds"):
        assert any(word in problem for problem in found), word


def test_an_empty_graph_is_an_error() -> None:
    assert any("nodes" in problem for problem in problems(Graph("g")))


# Edges


def test_an_edge_takes_the_fields_of_the_file() -> None:
    graph = saying(Graph("g"), "a", "b")
    graph.edge(
        "a",
        "b",
        label="l",
        trigger=False,
        carry_data=False,
        keep_message=True,
        clear_context=True,
        clear_kept_context=True,
        process={"type": "regex_extract", "config": {"pattern": "x"}},
    )
    (edge,) = graph.spec.edges
    assert (edge.label, edge.trigger, edge.carry_data, edge.keep_message) == (
        "l",
        False,
        False,
        True,
    )
    assert edge.clear_context
    assert edge.clear_kept_context
    assert edge.process is not None
    assert edge.process.type == "regex_extract"


@pytest.mark.parametrize("wrong", [{"labl": "x"}, {"trigger": "maybe"}, {"keep_message": 3}])
def test_a_wrong_field_of_an_edge_is_an_error(wrong: dict[str, Any]) -> None:
    graph = saying(Graph("g"), "a", "b")
    graph.edge("a", "b", **wrong)
    assert problems(graph)


@pytest.mark.parametrize(
    ("when", "runs"),
    [
        (None, 1),
        (True, 1),
        (False, 0),
        ("true", 1),
        ("data.n == 3", 1),
        ("data.n > 3", 0),
        ("round == 1", 1),
        (lambda m: m.data["n"] == 3, 1),
        (lambda m: False, 0),
        ({"type": "keyword", "config": {"any": ["hello"]}}, 1),
        ({"type": "keyword", "config": {"none": ["hello"]}}, 0),
    ],
)
def test_when_is_an_expression_a_function_or_a_condition(when: Any, runs: int) -> None:
    graph = Graph("g", end="b")
    graph.node(id="a")(lambda inp: Message("hello", {"n": 3}))
    saying(graph, "b")
    graph.edge("a", "b", when=when)
    assert play(graph).times["b"] == runs


def test_functions_of_several_edges_are_told_apart() -> None:
    graph = Graph("g", end=[f"t{number}" for number in range(12)])
    graph.node(id="s")(lambda inp: {"n": 7})
    for number in range(12):
        saying(graph, f"t{number}")
        graph.edge("s", f"t{number}", when=lambda m, number=number: m.data["n"] > number)
    ran = play(graph).times
    assert sorted(ran) == sorted(["s", *(f"t{number}" for number in range(7))])


def test_an_expression_that_does_not_parse_is_an_error_before_anything_runs() -> None:
    graph = saying(Graph("g"), "a", "b")
    graph.edge("a", "b", when="data.score >=")
    assert any("edges[0]" in problem for problem in problems(graph))


# Loops


def test_a_contract_on_a_node_that_heads_no_loop_is_an_error_that_names_the_heads() -> None:
    graph = saying(Graph("g", start="a", end="c"), "a", "b", "c")
    chain(graph, "a", "b", "a")
    graph.edge("b", "c")
    graph.loop("b", max_rounds=3)
    (problem,) = problems(graph)
    assert "'b' heads no loop" in problem
    assert "entered at: a" in problem


def test_a_contract_in_a_graph_without_loops_says_so() -> None:
    graph = chain(saying(Graph("g"), "a", "b"), "a", "b")
    graph.loop("a", max_rounds=3)
    (problem,) = problems(graph)
    assert "this graph has no loop" in problem


def test_a_contract_on_no_node_at_all_is_an_error() -> None:
    graph = chain(saying(Graph("g"), "writer", "b"), "writer", "b")
    graph.loop("writter", max_rounds=3)
    (problem,) = problems(graph)
    assert "writter" in problem
    assert "writer" in problem.replace("writter", "")


def test_a_contract_with_several_unlabelled_exits_says_which_label_to_set() -> None:
    graph = saying(Graph("g", start="a", end=["x", "y"]), "a", "b", "x", "y")
    chain(graph, "a", "b", "a")
    graph.edge("a", "x", when="round > 3")
    graph.edge("b", "y", when="round > 3")
    graph.loop("a", max_rounds=3)
    (problem,) = problems(graph)
    assert "label: limit" in problem
    assert "a -> x" in problem
    assert "b -> y" in problem
    graph.edge("b", "y", label="limit")
    assert play(graph).exits == [("a", 3, "max_rounds_reached")]


def test_several_exits_without_a_contract_are_fine() -> None:
    graph = saying(Graph("g", start="a", end=["x", "y"]), "a", "b", "x", "y")
    chain(graph, "a", "b", "a")
    graph.edge("a", "x", when="round > 2")
    graph.edge("b", "y", when="round > 2")
    assert play(graph).exits == [("a", 3, "exit_edge")]


@pytest.mark.parametrize("wrong", [{"max_rounds": "three"}, {"exit": "later"}, {"rounds": 3}])
def test_a_wrong_field_of_a_contract_is_an_error(wrong: dict[str, Any]) -> None:
    graph = saying(Graph("g", start="a", end="a"), "a")
    graph.edge("a", "a")
    graph.loop("a", **wrong)
    assert problems(graph)


def test_a_loop_without_a_bound_of_its_own_ends_after_100_rounds() -> None:
    graph = saying(Graph("g", start="a", end="out"), "a", "out")
    graph.edge("a", "a")
    graph.edge("a", "out", condition=False)
    played = play(graph)
    assert played.exits == [("a", 100, "max_rounds_reached")]
    assert played.times == {"a": 100, "out": 1}


def test_two_starts_in_one_loop_are_an_error_that_names_both() -> None:
    graph = saying(Graph("g", start=["a", "b"], end="c"), "a", "b", "c")
    chain(graph, "a", "b", "a")
    graph.edge("b", "c")
    (problem,) = problems(graph)
    assert "'a' and 'b'" in problem


def test_two_entries_at_run_time_are_a_failure_that_names_both() -> None:
    graph = saying(Graph("g", start="s", end="a"), "s", "a", "b")
    chain(graph, "a", "b", "a")
    graph.edge("s", "a")
    graph.edge("s", "b")
    played = play(graph)
    result = played.result
    assert (result.status, result.reason) == ("failed", "two_entries")
    assert "'a' and 'b'" in result.message
    assert played.times == {"s": 1}


def test_two_doors_are_fine_while_one_is_used_at_a_time() -> None:
    graph = saying(Graph("g", start="s", end="out"), "a", "b", "out")
    graph.node(id="s")(lambda inp: "left" if inp.round % 2 else "right")
    chain(graph, "a", "b", "a")
    graph.edge("s", "a", when=lambda m: m.text == "left")
    graph.edge("s", "b", when=lambda m: m.text == "right")
    graph.edge("b", "s", label="limit")
    graph.edge("s", "out", label="limit")
    graph.loop("s", max_rounds=4)
    graph.loop("a", max_rounds=2)
    graph.loop("b", max_rounds=3)
    played = play(graph)
    assert played.result.status == "completed"
    entered = [exit for exit in played.exits if exit[0] != "s"]
    limit = "max_rounds_reached"
    assert entered == [("a", 2, limit), ("b", 3, limit)] * 2


def test_a_graph_where_every_node_is_entered_starts_at_its_first() -> None:
    graph = saying(Graph("g", end="b"), "a", "b")
    chain(graph, "a", "b", "a")
    graph.loop("a", max_rounds=2)
    assert play(graph).exits == [("a", 2, "max_rounds_reached")]


# Runs that get nowhere


def test_the_limit_of_steps_ends_the_run_and_says_how_to_raise_it() -> None:
    graph = saying(Graph("g", start="a", end="out"), "a", "out")
    graph.edge("a", "a")
    graph.edge("a", "out", label="limit")
    graph.limits(max_steps=7)
    played = play(graph)
    result = played.result
    assert (result.status, result.reason) == ("failed", "max_steps_reached")
    assert "7" in result.message
    assert "max_steps" in result.message
    assert played.times["a"] == 7
    assert played.exits == [("a", 8, "failed")] or played.exits == [("a", 7, "failed")]


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_exactly_the_limit_of_steps_is_allowed(steps: int) -> None:
    names = [f"n{number}" for number in range(steps)]
    graph = chain(saying(Graph("g"), *names), *names)
    graph.limits(max_steps=steps)
    assert play(graph).result.status == "completed"


def test_no_output_names_the_conditions_that_held_nobody() -> None:
    graph = saying(Graph("g", end="end"), "a", "b", "end")
    graph.edge("a", "b", when=lambda m: False)
    graph.edge("b", "end")
    result = play(graph).result
    assert (result.status, result.reason) == ("failed", "no_output")
    assert "'end'" in result.message
    assert "a -> b" in result.message
    assert "b -> end" not in result.message
    assert result.output is None


def test_an_empty_output_is_no_output() -> None:
    graph = Graph("g")
    graph.node(id="a")(lambda inp: None)
    assert play(graph).result.reason == "no_output"


def test_nothing_is_no_output() -> None:
    graph = Graph("g")
    graph.node(id="a")(lambda inp: NOTHING)
    assert play(graph).result.reason == "no_output"


def test_the_first_end_with_output_is_the_result() -> None:
    graph = Graph("g", start="s", end=["none", "first", "second"])
    saying(graph, "s", "first", "second")
    graph.node(id="none")(lambda inp: NOTHING)
    for end in ("second", "first", "none"):
        graph.edge("s", end)
    assert play(graph).result.output == "first"


# Own parts


class Shout:
    """A processor of one's own with everything it may do."""

    async def process(self, ctx: Context) -> Outcome:
        ctx.charge(Usage("m", 3, 4, 0.5))
        ctx.emit("token_stream", {"chunk": "x"})
        return Emit([Message(ctx.text.upper(), {"n": 1})], state=ctx.text, report={"loud": True})


def test_a_processor_of_ones_own() -> None:
    assert isinstance(Shout(), Processor)
    graph = Graph("g")
    graph.add("shout", Shout(), context_window=2)
    played = play(graph, "hello")
    assert (played.result.output, played.result.data) == ("HELLO", {"n": 1})
    usage = played.result.usage
    assert (usage.input_tokens, usage.output_tokens, usage.usd, usage.model_calls) == (3, 4, 0.5, 1)
    (completed,) = [e for e in played.events if e.data.get("status") == "completed" and e.node_id]
    assert completed.data == {"status": "completed", "loud": True}


def test_usage_counts_also_where_the_step_fails() -> None:
    class Fails:
        async def process(self, ctx: Context) -> Outcome:
            ctx.charge(Usage("m", 3, 4, 0.5))
            raise RuntimeError

    graph = Graph("g")
    graph.add("f", Fails(), retry={"max_attempts": 2, "min_wait": 0, "max_wait": 0})
    played = play(graph)
    assert played.result.usage.tokens == 14
    assert played.steps[0].usage.tokens == 14


class Steering:
    """A router of one's own that ends its loop with a reason."""

    async def process(self, ctx: Context) -> Outcome:
        over = ctx.round >= 3
        verdict = Verdict("consensus_reached" if over else "", goal_met=over, value=1, threshold=2)
        return Emit([Message("over" if over else "go on")], verdict=verdict)

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        wanted = "out" if output.messages[0].text == "over" else "back"
        return [edge for edge in edges if edge.label == wanted]


def test_a_router_of_ones_own_ends_a_loop_with_its_own_reason() -> None:
    assert isinstance(Steering(), Router)
    graph = saying(Graph("g", start="a", end="end"), "a", "end")
    graph.add("steer", Steering())
    graph.edge("a", "steer")
    graph.edge("steer", "a", label="back")
    graph.edge("steer", "end", label="out")
    played = play(graph)
    (loop,) = played.result.loops
    assert (loop.rounds, loop.exit_reason, loop.value, loop.threshold, loop.bounded) == (
        3,
        "consensus_reached",
        1,
        2,
        False,
    )


def test_a_missed_goal_makes_the_session_bounded() -> None:
    class Gives:
        async def process(self, ctx: Context) -> Outcome:
            return Emit([Message("x")], verdict=Verdict(goal_met=False))

    graph = saying(Graph("g", start="a", end="end"), "end")
    graph.add("a", Gives())
    graph.edge("a", "a")
    graph.edge("a", "end", label="limit")
    graph.loop("a", max_rounds=2)
    played = play(graph)
    assert played.result.status == "bounded"
    assert played.result.loops[0].bounded


class Note:
    """Middleware that writes down what it sees."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name = name
        self._log = log

    async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
        self._log.append(f"{self._name} before {ctx.address}")
        outcome = await call(ctx)
        self._log.append(f"{self._name} after {ctx.address}")
        return outcome


def test_middleware_wraps_every_step_the_first_outermost() -> None:
    log: list[str] = []
    graph = chain(saying(Graph("g"), "a", "b"), "a", "b")
    play(graph, middleware=[Note("outer", log), Note("inner", log)])
    assert log == [
        f"{layer} {when} {node}"
        for node in ("a", "b")
        for layer, when in (
            ("outer", "before"),
            ("inner", "before"),
            ("inner", "after"),
            ("outer", "after"),
        )
    ]


def test_middleware_may_change_the_outcome_and_its_failure_is_the_steps() -> None:
    class Replaces:
        async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
            await call(ctx)
            if ctx.text == "fail":
                raise ValueError("refused")
            return Emit([Message("replaced")])

    graph = saying(Graph("g"), "a")
    assert play(graph, "x", middleware=[Replaces()]).result.output == "replaced"
    result = play(graph, "fail", middleware=[Replaces()]).result
    assert result.message == "a: ValueError: refused"


def test_middleware_is_around_every_attempt() -> None:
    log: list[str] = []
    graph = Graph("g")
    tries = iter([True, True, False])

    @graph.node(retry={"max_attempts": 3, "min_wait": 0, "max_wait": 0})
    def flaky(inp: Context) -> str:
        if next(tries):
            raise RuntimeError
        return "done"

    assert play(graph, middleware=[Note("m", log)]).result.output == "done"
    assert log == ["m before flaky"] * 3 + ["m after flaky"]


async def test_a_lock_of_middleware_suspends_the_session() -> None:
    class Locks:
        async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
            if ctx.node_id == "b":
                return Lock("TIMEOUT", "ran for too long", {"seconds": 7})
            return await call(ctx)

    graph = chain(saying(Graph("g"), "a", "b", "c"), "a", "b", "c")
    async with Engine(db=None, middleware=[Locks()]) as engine:
        session = await engine.start(graph)
        result = await session.settled()
        assert (result.status, result.reason) == ("suspended_locked", "TIMEOUT")
        await session.stop()
        events = [e async for e in session.events()]
        (tripped,) = [e for e in events if e.event == "circuit_breaker:tripped"]
        assert tripped.data["reason"] == "TIMEOUT"
        assert tripped.data["seconds"] == 7
        assert [step.node_id for step in session.steps()] == ["a", "b"]


def test_a_node_type_of_ones_own_is_registered_like_the_built_in_ones() -> None:
    class EchoConfig(BaseModel):
        times: int = 1

    class Echo:
        def __init__(self, config: EchoConfig) -> None:
            self._times = config.times

        async def process(self, ctx: Context) -> Outcome:
            return Emit([Message(ctx.text * self._times)])

    registry = builtin_registry()
    registry.node("echo", EchoConfig, lambda config, _registry: Echo(config))
    text = "graph: {id: g, nodes: [{id: e, type: echo, config: {times: 3}}]}"
    with pytest.raises(GraphError, match="echo"):
        Graph.loads(text)
    graph = Graph.loads(text, registry=registry)
    assert play(graph, "ha", registry=registry).result.output == "hahaha"
    with pytest.raises(CallError, match="echo"):
        registry.node("echo", EchoConfig, lambda config, _registry: Echo(config))


def test_a_registered_function_can_be_named_in_a_file() -> None:
    registry = builtin_registry()
    registry.function("loud", lambda inp: inp.text.upper())
    registry.function("long", lambda message: len(message.text) > 3)
    registry.function("star", lambda message: f"*{message.text}*")
    graph = Graph.loads(
        """
        graph:
          id: g
          nodes:
            - {id: a, type: function, config: {name: loud}}
            - {id: b, type: passthrough}
          edges:
            - from: a
              to: b
              condition: {type: function, config: {name: long}}
              process: {type: function, config: {name: star}}
        """,
        registry=registry,
    )
    assert play(graph, "hello", registry=registry).result.output == "*HELLO*"
    assert play(graph, "hi", registry=registry).result.reason == "no_output"


def known() -> Registry:
    """A registry with some functions."""
    registry = builtin_registry()
    registry.function("loud", lambda inp: inp.text.upper())
    registry.function("yes", lambda message: True)
    registry.function("star", lambda message: Message(f"*{message.text}*"))
    return registry


def test_a_registered_function_can_be_a_node_of_a_python_graph() -> None:
    registry = known()
    graph = Graph("g", registry=registry)
    graph.add("a", "function", {"name": "loud"})
    assert play(graph, "hi", registry=registry).result.output == "HI"


def test_a_registered_function_can_be_on_an_edge_of_a_python_graph() -> None:
    registry = known()
    graph = Graph("g", registry=registry)
    graph.add("a", "literal", {"content": "x"})
    graph.add("b", "passthrough")
    condition = {"type": "function", "config": {"name": "yes"}}
    process = {"type": "function", "config": {"name": "star"}}
    graph.edge("a", "b", when=condition, process=process)
    assert play(graph, registry=registry).result.output == "*x*"


def test_an_unregistered_function_in_a_python_graph_is_a_graph_error() -> None:
    graph = Graph("g")
    graph.add("a", "function", {"name": "nobody"})
    assert any("nobody" in problem for problem in problems(graph))


# The engine


def test_the_one_liner() -> None:
    graph = saying(Graph("g"), "a")
    result = rondel.run(graph, "task")
    assert (result.status, result.output) == ("completed", "a")
    assert rondel.run(graph).output == "a"


async def test_engine_run_starts_and_waits(tmp_path: Path) -> None:
    engine = Engine(db=None)
    result = await engine.run(saying(Graph("g"), "a"), {"task": "x"})
    assert (result.status, result["output"]) == ("completed", "a")
    assert engine.get(result.session_id).status == "completed"
    await engine.close()


def test_an_unknown_session_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownSession, match="'nope'"):
        Engine(db=None).get("nope")


async def test_a_session_says_what_it_is() -> None:
    async with Engine(db=None) as engine:
        session: Session = await engine.start(saying(Graph("g"), "a"))
        assert engine.get(session.id) is session
        assert session.status == "running"
        assert session.id in repr(session)
        await session.result()
        assert session.status == "completed"


@pytest.mark.parametrize("inputs", [5, 1.5, ["a"], b"x", ("a",), object(), True])
async def test_inputs_of_the_wrong_type_are_refused(inputs: Any) -> None:
    async with Engine(db=None) as engine:
        with pytest.raises(CallError, match=type(inputs).__name__):
            await engine.start(saying(Graph("g"), "a"), inputs)


async def test_a_hundred_sessions_of_one_graph_at_once_do_not_meet() -> None:
    """Private state, contexts and rounds belong to a session, the graph to all of them."""
    graph = Graph("g", start="count", end="end")

    class Counts:
        async def process(self, ctx: Context) -> Outcome:
            count = (ctx.state or 0) + 1
            await asyncio.sleep(0)
            name = ctx.messages[0].data["name"]
            return Emit([Message(f"{name} {count}", {"name": name})], state=count)

    graph.add("count", Counts(), context_window=-1)
    graph.add("guard", "loop_counter", {"max_iterations": 4})
    graph.node(id="end")(lambda inp: inp.messages[0].text)
    graph.edge("count", "count", when="round < 5")
    graph.edge("count", "guard")
    graph.edge("guard", "count")
    graph.edge("count", "end", when="round == 5")

    async with Engine(db=None) as engine:
        names = [f"session {number}" for number in range(100)]
        sessions = [await engine.start(graph, {"name": name}) for name in names]
        results = await asyncio.gather(*(session.result() for session in sessions))
        assert [result.output for result in results] == [f"{name} 5" for name in names]
        assert len({session.id for session in sessions}) == 100
        for name, session in zip(names, sessions, strict=True):
            steps = session.steps()
            said = [s.outputs[0]["content"] for s in steps if s.node_id == "count"]
            assert said == [f"{name} {number}" for number in range(1, 6)]
            assert [len(s.outputs) for s in steps if s.node_id == "guard"] == [0, 0, 0, 1, 0]


def test_one_graph_runs_in_many_engines_one_after_the_other() -> None:
    graph = saying(Graph("g"), "a")
    assert [rondel.run(graph).output for _ in range(5)] == ["a"] * 5


def test_a_graph_may_grow_between_two_runs() -> None:
    graph = saying(Graph("g"), "a")
    assert play(graph).result.output == "a"
    saying(graph, "b")
    graph.edge("a", "b")
    played = play(graph)
    assert played.result.output == "b"
    assert played.times == {"a": 1, "b": 1}


async def test_a_running_session_keeps_its_own_copy_of_the_graph() -> None:
    gate = asyncio.Event()
    graph = Graph("g")

    async def waits(inp: Context) -> str:
        await gate.wait()
        return "old"

    graph.node(waits)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await asyncio.sleep(0)
        saying(graph, "b")
        graph.edge("waits", "b")
        gate.set()
        assert (await session.result()).output == "old"
        assert (await engine.run(graph)).output == "b"


def test_a_loaded_graph_can_be_extended_in_python() -> None:
    graph = Graph.loads(
        """
        graph:
          id: g
          nodes:
            - {id: a, type: literal, config: {content: hello}}
            - {id: b, type: passthrough}
          edges:
            - {from: a, to: b}
        """
    )
    graph.node(id="c")(lambda inp: inp.text.upper())
    graph.edge("b", "c")
    assert play(graph).result.output == "HELLO"


def test_the_result_can_be_read_by_name_too() -> None:
    result = play(saying(Graph("g"), "a")).result
    for field in ("status", "output", "data", "loops", "usage"):
        assert result[field] == getattr(result, field)
    with pytest.raises(KeyError):
        result["nothing"]


async def test_a_result_does_not_change_any_more() -> None:
    answers = [{"content": "x", "usage": {"input_tokens": 5, "output_tokens": 5}}]
    graph = Graph("g")
    for name in ("one", "two"):
        graph.add(name, "agent", {"provider": "scripted", "answers": answers})
    graph.add("h", "human")
    chain(graph, "one", "h", "two")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        before = await session.settled()
        assert before.usage.tokens == 10
        await session.answer("on")
        assert (await session.settled()).usage.tokens == 20
        assert before.usage.tokens == 10


def test_a_processor_shared_by_two_nodes_has_two_states() -> None:
    shared = Says("first", "second")
    graph = Graph("g")
    graph.add("a", shared)
    graph.add("b", shared)
    graph.edge("a", "b")
    played = play(graph)
    assert played.outputs("a") == played.outputs("b") == [["first"]]


@pytest.mark.parametrize("mixed", [False, True])
def test_a_registered_function_can_be_a_condition_of_a_python_graph(mixed: bool) -> None:
    registry = known()
    graph = Graph("g", registry=registry)
    graph.add("a", "literal", {"content": "x"})
    graph.add("b", "passthrough")
    graph.edge("a", "b", when={"type": "function", "config": {"name": "yes"}})
    if mixed:
        graph.node(id="c")(lambda inp: "c")
        graph.edge("b", "c", when=lambda m: True)
    assert play(graph, registry=registry).result.status == "completed"


def test_a_message_that_a_process_made_still_says_where_it_is_from() -> None:
    registry = known()
    graph = Graph.loads(
        """
        graph:
          id: g
          nodes:
            - {id: a, type: literal, config: {content: x}}
            - {id: b, type: passthrough}
          edges:
            - {from: a, to: b, process: {type: function, config: {name: star}}}
        """,
        registry=registry,
    )
    (step,) = [s for s in play(graph, registry=registry).steps if s.node_id == "b"]
    assert [message["source"] for message in step.inputs] == ["a"]


def test_a_processor_that_counts_as_false_is_a_processor_all_the_same() -> None:
    class Collected(list[str]):
        async def process(self, ctx: Context) -> Outcome:
            return Emit([Message("collected")])

    graph = Graph("g")
    graph.add("a", Collected())
    assert play(graph).result.output == "collected"


def test_a_file_without_graph_has_an_id_too() -> None:
    graph = Graph.loads("nodes: [{id: a, type: literal, config: {content: x}}]")
    assert graph.id
    assert repr(graph)
    assert play(graph).result.output == "x"


def test_a_loaded_graph_without_edges_can_be_extended() -> None:
    graph = Graph.loads("graph: {id: g, nodes: [{id: a, type: literal, config: {content: x}}]}")
    graph.add("b", "passthrough")
    graph.edge("a", "b")
    assert play(graph).result.output == "x"


@pytest.mark.parametrize("inputs", [{"task": object()}, {"x": object()}, {1: 2}, {"x": {1, 2}}])
async def test_inputs_that_are_no_json_are_refused(inputs: Any) -> None:
    async with Engine(db=None) as engine:
        with pytest.raises(CallError):
            await engine.start(saying(Graph("g"), "a"), inputs)


async def test_inputs_are_the_sessions_own() -> None:
    gate = asyncio.Event()
    graph = Graph("g")

    async def waits(inp: Context) -> dict[str, Any]:
        await gate.wait()
        return inp.data

    graph.node(waits)
    async with Engine(db=None) as engine:
        inputs: dict[str, Any] = {"task": "x"}
        session = await engine.start(graph, inputs)
        inputs["later"] = 1
        gate.set()
        assert (await session.result()).data == {"task": "x"}


async def test_the_one_liner_inside_a_running_loop_says_what_to_do_instead() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(rondel.RondelError, match=r"engine\.run|await"):
            rondel.run(saying(Graph("g"), "a"))
        gc.collect()
