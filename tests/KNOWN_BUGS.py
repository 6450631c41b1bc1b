# ruff: noqa: N999
"""Tests that fail because of a bug; not collected. Run them with `pytest tests/KNOWN_BUGS.py`.

One that passes belongs in the file its comment names, and out of here.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import rondel
from rondel import Context, Emit, Engine, Graph, Message, Outcome, Session
from rondel.errors import CallError, WrongState
from rondel.graph.compile import compile_graph
from rondel.graph.spec import EdgeSpec, GraphSpec, LoopSpec, NodeSpec
from rondel.sessions.registry import builtin_registry
from tests.property.harness import Jitter
from tests.unit.sessions.playing import chain, limited, play, saying


class Odd(BaseException):
    """Neither an Exception nor one that ends the program."""


# -- hangs ------------------------------------------------------------- unit/engine/test_failures


def alone(function: Any, **fields: Any) -> Graph:
    graph = Graph("alone")
    graph.node(id="work", **fields)(function)
    return graph


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
    result = play(graph(awaits_what_is_cancelled), seconds=3).result
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert "CancelledError" in result.message


def test_a_base_exception_in_a_parallel_branch_reaches_whoever_waits() -> None:
    async def odd(inp: Context) -> None:
        raise Odd

    with pytest.raises(Odd):
        play(beside(odd), seconds=3)


def test_a_process_that_is_not_async_and_raises_fails_its_step() -> None:
    class Plain:
        def process(self, ctx: Context) -> Outcome:
            raise ValueError("at once")

    graph = Graph("g")
    graph.add("a", Plain())  # type: ignore[arg-type]
    assert play(graph, seconds=3).result.message == "a: ValueError: at once"


# -- controls that come too late -------------------------------------- unit/sessions/test_controls


async def controlled_after_the_first_step(control: str) -> tuple[list[str], Session]:
    """A sync step of 20 ms, then a long one; the control comes with the first one's last event."""
    log: list[str] = []
    graph = Graph("g")

    @graph.node
    def first(inp: Context) -> str:
        time.sleep(0.02)
        return "x"

    @graph.node
    async def second(inp: Context) -> str:
        log.append("second started")
        await asyncio.sleep(0.3)
        log.append("second ended")
        return "y"

    graph.edge("first", "second")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        async for event in session.events():
            if event.node_id == "first" and event.data.get("status") == "completed":
                await getattr(session, control)()
                log.append(control)
                break
        await session.settled()
        return log, session


@pytest.mark.parametrize("control", ["stop", "pause"])
def test_no_step_starts_once_a_control_has_returned(control: str) -> None:
    log, _ = limited(controlled_after_the_first_step(control), 5)
    assert log == [control]


def asking(work: Any) -> Graph:
    """s -> h1 -> e, s -> h2 -> work -> e."""
    graph = saying(Graph("asking", end="e"), "s")
    graph.node(id="work")(work)
    graph.node(id="e")(lambda inp: " ".join(message.text for message in inp.messages))
    for human in ("h1", "h2"):
        graph.add(human, "human")
        graph.edge("s", human)
    chain(graph, "h1", "e")
    chain(graph, "h2", "work", "e")
    return graph


def test_a_refused_control_does_not_let_go_of_the_next_one(tmp_path: Path) -> None:
    """The driver that the refused control woke parks the session in the middle of the next one.

    The lease is given back, nobody is said to drive it, and the next control starts a second
    driver beside the first: a step runs twice, and its two outcomes spoil the journal.
    """

    async def main() -> None:
        calls: list[str] = []

        async def work(inp: Context) -> str:
            calls.append(inp.address)
            await asyncio.sleep(0.2)
            return inp.text

        async with Engine(db=tmp_path / "x.db") as engine:
            session = await engine.start(asking(work))
            await session.settled()
            with pytest.raises(WrongState):
                await session.answer("nobody asked", node="s")
            await session.answer("two", node="h2")
            await asyncio.sleep(0.02)
            assert engine.store.lease(session.id) is not None
            await session.answer("one", node="h1")
            assert (await session.result()).output == "one two"
            await asyncio.sleep(0.3)
            assert calls == ["work"]
            assert len(session.steps()) == 5

    limited(main(), 5)


def test_the_result_of_a_finished_session_outlives_its_engine(tmp_path: Path) -> None:
    async def main() -> None:
        async with Engine(db=tmp_path / "x.db") as engine:
            session = await engine.start(saying(Graph("g"), "a"))
            await session.result()
        assert session.status == "completed"
        assert session.id in repr(session)
        assert (await session.result()).output == "a"

    limited(main(), 5)


# -- events ------------------------------------------------------------ unit/sessions/test_events


def nested(inner: int = 2, outer: int = 2) -> Graph:
    """The inner loop's way out leads back to the outer head."""
    graph = saying(Graph("nested", start="O", end="E"), "O", "I", "E")
    graph.edge("O", "I")
    graph.edge("I", "I")
    graph.edge("I", "O", label="limit")
    graph.edge("O", "E", label="limit")
    graph.loop("I", max_rounds=inner)
    graph.loop("O", max_rounds=outer)
    return graph


def test_the_events_of_a_step_all_have_its_address() -> None:
    played = play(nested())
    told = defaultdict(list)
    for event in played.of("node_state_change"):
        told[event.address].append(event.data["status"])
    assert set(told) == {step.address for step in played.steps}
    assert all(states == ["running", "completed"] for states in told.values())


def test_the_events_of_a_round_all_have_its_address() -> None:
    played = play(nested())
    started = [event.address for event in played.of("loop:round_started")]
    completed = [event.address for event in played.of("loop:round_completed")]
    assert sorted(started) == sorted(completed)


def test_the_rounds_of_nested_loops_can_be_listed() -> None:
    async def main() -> None:
        async with Engine(db=None) as engine:
            session = await engine.start(nested())
            await session.result()
            addresses = [record.address for record in session.rounds()]
            assert addresses == ["O[1]", "O[1]/I[1]", "O[1]/I[2]", "O[2]", "O[2]/I[1]", "O[2]/I[2]"]

    limited(main(), 5)


def test_a_skipped_node_is_told_with_its_own_address() -> None:
    graph = saying(Graph("g", start="O", end="E"), "O", "A", "E")
    graph.node(id="I")(lambda inp: "x")
    graph.edge("O", "I")
    graph.edge("I", "A", when=lambda m: False)
    graph.edge("I", "I")
    graph.edge("A", "I")
    graph.edge("I", "O", label="limit")
    graph.edge("O", "E", label="limit")
    graph.loop("I", max_rounds=1)
    graph.loop("O", max_rounds=2)
    skipped = [e.address for e in play(graph).events if e.data.get("status") == "skipped"]
    assert skipped == ["O[1]/I[1]/A", "O[2]/I[1]/A"]


def test_nothing_happens_after_the_session_is_over() -> None:
    graph = saying(Graph("g", start="S", end="Z"), "S", "A", "B", "Z")
    graph.edge("S", "A")
    graph.edge("S", "B")
    chain(graph, "A", "B", "A")
    graph.edge("S", "Z")
    played = play(graph)
    assert played.result.reason == "two_entries"
    assert played.events[-1].event == "session_state_change"
    assert played.times == {"S": 1}


def test_a_report_cannot_change_what_the_event_says_of_the_step() -> None:
    graph = alone(lambda inp: Emit([Message("x")], report={"status": "weird"}))
    states = [e.data["status"] for e in play(graph).of("node_state_change")]
    assert states == ["running", "completed"]


def test_tokens_of_a_blocking_node_arrive_while_it_runs() -> None:
    """`emit` is called in the node's thread, the event loop must be woken from there."""

    async def main() -> None:
        release = threading.Event()

        def speaks(inp: Context) -> str:
            time.sleep(0.05)
            inp.emit("token_stream", {"chunk": "now", "agent": "speaks"})
            release.wait(3)
            return "said"

        graph = Graph("g")
        graph.node(id="speaks", blocking=True)(speaks)
        try:
            async with Engine(db=None) as engine:
                session = await engine.start(graph)
                began = time.monotonic()
                async for event in session.events():
                    if event.event == "token_stream":
                        assert time.monotonic() - began < 1
                        break
        finally:
            release.set()

    limited(main(), 5)


# -- timing ------------------------------------------------------------- property/test_timing


def test_the_loops_of_a_result_come_in_an_order_without_a_clock() -> None:
    graph = saying(Graph("g", end="end"), "s", "a", "b", "end")
    for name in ("a", "b"):
        graph.edge("s", name)
        graph.edge(name, name)
        graph.edge(name, "end", label="limit")
        graph.loop(name, max_rounds=2)
    orders = {
        tuple(loop.loop for loop in play(graph, middleware=[Jitter(seed)]).result.loops)
        for seed in range(20)
    }
    assert len(orders) == 1


# -- contexts ------------------------------------------------------------ unit/engine/test_contexts


def test_the_data_of_a_long_context_costs_the_same_in_every_round() -> None:
    """`islice(retained, merged, length)` walks over all that is merged already."""

    def seconds(rounds: int) -> float:
        graph = Graph("g", start="head", end="out")

        @graph.node(context_window=-1)
        def head(inp: Context) -> dict[str, int]:
            return {"n": inp.data.get("n", 0) + 1}

        saying(graph, "out")
        graph.edge("head", "head")
        graph.edge("head", "out", label="limit")
        graph.loop("head", max_rounds=rounds)
        graph.limits(max_steps=10**6)

        async def main() -> None:
            async with Engine(db=None) as engine:
                assert (await engine.run(graph)).status == "completed"

        began = time.process_time()
        limited(main(), 100)
        return time.process_time() - began

    assert seconds(40_000) < 8 * seconds(10_000)


def test_listing_the_steps_of_a_long_context_does_not_copy_every_message_every_time() -> None:
    """2,000 rounds took 0.8 GB: a face of every retained message for every step."""

    async def main() -> int:
        graph = Graph("g", start="head", end="out")
        graph.node(id="head", context_window=-1)(lambda inp: "x")
        saying(graph, "out")
        graph.edge("head", "head")
        graph.edge("head", "out", label="limit")
        graph.loop("head", max_rounds=500)
        async with Engine(db=None) as engine:
            session = await engine.start(graph)
            await session.result()
            steps = session.steps()
            return len({id(message) for step in steps for message in step.inputs})

    assert limited(main(), 30) < 50_000


# -- compiling -------------------------------------------------------- unit/graph/test_compile


def spec(edges: list[tuple[str, str]], start: str, end: str, heads: list[str]) -> GraphSpec:
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    return GraphSpec(
        "g",
        tuple(NodeSpec(name, "t") for name in names),
        tuple(EdgeSpec(*edge) for edge in edges),
        (start,),
        (end,),
        loops={head: LoopSpec(head, max_rounds=3) for head in heads},
    )


def test_loops_nested_200_deep_take_contracts() -> None:
    """The budget of eager compiling runs out at depth 23, and deeper heads are not known then."""
    depth = 200
    down = [(f"h{n}", f"h{n + 1}") for n in range(depth - 1)]
    up = [(f"t{n}", f"t{n - 1}") for n in range(depth - 1, 0, -1)]
    back = [(f"t{n}", f"h{n}") for n in range(depth)]
    edges = [*down, (f"h{depth - 1}", f"t{depth - 1}"), *up, *back, ("t0", "end")]
    compile_graph(spec(edges, "h0", "end", [f"h{n}" for n in range(depth)]))


def test_a_loop_with_many_doors_takes_contracts_on_the_loops_inside_it() -> None:
    ring = [(f"r{n}", f"r{(n + 1) % 300}") for n in range(300)]
    inner = [("r14", "r10"), ("r12", "r11")]
    doors = [("gate", f"r{n}") for n in range(20, 300)]
    compile_graph(spec([*ring, *inner, *doors], "gate", "r0", ["r11"]))


def test_a_contract_without_a_clear_way_out_is_found_however_deep_it_is() -> None:
    depth = 60
    down = [(f"h{n}", f"h{n + 1}") for n in range(depth - 1)]
    up = [(f"t{n}", f"t{n - 1}") for n in range(depth - 1, 0, -1)]
    back = [(f"t{n}", f"h{n}") for n in range(depth)]
    edges = [*down, (f"h{depth - 1}", f"t{depth - 1}"), *up, *back, ("t0", "end")]
    edges += [(f"h{depth - 1}", "end")]
    with pytest.raises(rondel.GraphError, match="label: limit"):
        compile_graph(spec(edges, "h0", "end", [f"h{depth - 1}"]))


def test_a_complete_graph_compiles_in_time_that_its_edges_explain() -> None:
    """The budget counts nodes, the work is edges: 100 nodes take 4 s, 200 take 33 s."""

    def seconds(size: int) -> float:
        edges = [(str(a), str(b)) for a in range(size) for b in range(size) if a != b]
        graph = spec([*edges, ("0", "end")], "0", "end", [])
        began = time.process_time()
        compile_graph(graph)
        return time.process_time() - began

    assert seconds(100) < 5 * seconds(50)


# -- the Python interface -------------------------------------------- unit/sessions/test_python_api


def known() -> Any:
    registry = builtin_registry()
    registry.function("loud", lambda inp: inp.text.upper())
    registry.function("yes", lambda message: True)
    registry.function("star", lambda message: Message(f"*{message.text}*"))
    return registry


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


def test_a_closed_engine_starts_nothing() -> None:
    async def main() -> None:
        engine = Engine(db=None)
        await engine.close()
        with pytest.raises(rondel.RondelError, match="closed"):
            await engine.start(saying(Graph("g"), "a"))

    limited(main(), 5)


@pytest.mark.parametrize("inputs", [{"task": object()}, {"x": object()}, {1: 2}, {"x": {1, 2}}])
def test_inputs_that_are_no_json_are_refused(inputs: Any) -> None:
    async def main() -> None:
        async with Engine(db=None) as engine:
            with pytest.raises(CallError):
                await engine.start(saying(Graph("g"), "a"), inputs)

    limited(main(), 5)


def test_inputs_are_the_sessions_own() -> None:
    async def main() -> None:
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

    limited(main(), 5)


def test_settled_tells_what_became_of_a_finished_session_after_the_close_too() -> None:
    async def main() -> None:
        async with Engine(db=None) as engine:
            session = await engine.start(saying(Graph("g"), "a"))
            await session.result()
        assert (await session.settled()).output == "a"

    limited(main(), 5)


def test_the_one_liner_inside_a_running_loop_says_what_to_do_instead() -> None:
    async def main() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(rondel.RondelError, match=r"engine\.run|await"):
                rondel.run(saying(Graph("g"), "a"))
            gc.collect()

    limited(main(), 5)


def test_a_stopped_step_is_not_running_any_more() -> None:
    async def main() -> None:
        started = asyncio.Event()

        async def long(inp: Context) -> None:
            started.set()
            await asyncio.sleep(60)

        async with Engine(db=None) as engine:
            session = await engine.start(alone(long))
            await started.wait()
            await session.stop()
            await session.settled()
            assert [step.status for step in session.steps()] != ["running"]

    limited(main(), 5)


def test_an_emit_of_what_is_no_message_says_what_is_wrong() -> None:
    message = play(alone(lambda inp: Emit(["text"]))).result.message  # type: ignore[list-item]
    assert "AttributeError" not in message
    assert "str" in message
    assert "Message" in message
