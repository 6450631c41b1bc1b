"""Nothing that code in a graph does ends the program; what is meant for the program still does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rondel import Context, Engine, Graph, Message, Registry, builtin_registry
from rondel.engine.protocols import Handler, Lock, Outcome
from rondel.engine.shell.exits import confined
from rondel.errors import Exited
from rondel.models.model import ModelAnswer, ProviderConfig, Request
from tests.unit.sessions.playing import Says, alone, limited, play

REMEDY = "; code in a graph cannot end the program: return, or raise an error"


def exits(_: Any = None) -> Any:
    sys.exit(0)


def interrupts(_: Any = None) -> Any:
    raise KeyboardInterrupt


def closes(_: Any = None) -> Any:
    raise GeneratorExit


class Unusual(BaseException):
    """No Exception, as some test tools have them."""


def unusual(_: Any = None) -> Any:
    raise Unusual("odd")


SAID: dict[Callable[..., Any], str] = {
    exits: f"SystemExit: 0{REMEDY}",
    interrupts: f"KeyboardInterrupt{REMEDY}",
    closes: f"GeneratorExit{REMEDY}",
    unusual: f"Unusual: odd{REMEDY}",
}
WAYS = pytest.mark.parametrize("way", SAID, ids=lambda way: way.__name__)


def message(graph: Graph, **options: Any) -> str:
    """What a failed session says, without the node."""
    result = play(graph, "x", **options).result
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert result.message is not None
    return result.message.partition(": ")[2]


@WAYS
def test_a_plain_function_that_exits_fails_its_step(way: Callable[..., Any]) -> None:
    assert message(alone(way)) == SAID[way]


@WAYS
def test_so_does_an_async_one_at_once_and_after_waiting(way: Callable[..., Any]) -> None:
    async def at_once(_: Context) -> str:
        return str(way())

    async def later(_: Context) -> str:
        await asyncio.sleep(0)
        return str(way())

    assert message(alone(at_once)) == message(alone(later)) == SAID[way]


@WAYS
def test_so_does_one_in_a_thread(way: Callable[..., Any]) -> None:
    assert message(alone(way, blocking=True)) == SAID[way]


def test_a_thread_whose_function_raises_stop_iteration_fails_its_step_and_does_not_hang() -> None:
    assert "StopIteration" in message(alone(lambda _: next(iter(())), blocking=True), seconds=20)


@WAYS
def test_so_do_one_of_several_side_by_side_conditions_processes_and_middleware(
    way: Callable[..., Any],
) -> None:
    beside = Graph("g")
    beside.node(id="a")(lambda _: "a")

    async def exiting(_: Context) -> str:
        await asyncio.sleep(0.001)
        return str(way())

    async def waits(_: Context) -> str:
        await asyncio.sleep(0.002)
        return "b"

    beside.node(id="b")(exiting)
    beside.node(id="c")(waits)
    beside.edge("a", "b")
    beside.edge("a", "c")
    assert message(beside) == SAID[way]

    condition = Graph("g")
    condition.add("a", Says())
    condition.add("b", Says())
    condition.edge("a", "b", when=way)
    assert SAID[way] in message(condition)

    class Exits:
        async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
            outcome: Outcome = way()
            return outcome

    assert message(alone(lambda _: "x"), middleware=[Exits()]) == SAID[way]

    registry = builtin_registry()
    registry.function("way", way)
    nodes = [{"id": name, "type": "passthrough"} for name in "ab"]
    called = {"type": "function", "config": {"name": "way"}}
    edges = [{"from": "a", "to": "b", "process": called}]
    text = json.dumps({"graph": {"id": "g", "nodes": nodes, "edges": edges}})
    process = Graph.loads(text, registry=registry)
    assert SAID[way] in message(process)


@WAYS
def test_so_does_each_part_of_a_map_and_it_is_retried_as_any_failure(
    way: Callable[..., Any],
) -> None:
    graph = Graph("g")
    graph.node(id="a")(lambda _: [Message("1"), Message("2")])

    async def part(ctx: Context) -> str:
        await asyncio.sleep(0)
        return str(way())

    graph.node(id="b")(part)
    graph.edge("a", "b", dynamic={"type": "map", "split": {"type": "message"}})
    assert message(graph) == SAID[way]

    tries: list[int] = []

    def second(ctx: Context) -> str:
        tries.append(ctx.attempt)
        return "fine" if len(tries) > 1 else str(way())

    retried = alone(second, retry={"max_attempts": 2, "min_wait": "1ms"})
    assert play(retried).result.output == "fine"


def of_one(node: dict[str, Any], registry: Registry | None = None) -> Graph:
    """A graph of one node."""
    text = json.dumps({"graph": {"id": "g", "nodes": [{"id": "n", **node}]}})
    return Graph.loads(text, registry=registry)


class Exiting:
    """A model that ends the program."""

    async def answer(self, request: Request) -> ModelAnswer:
        await asyncio.sleep(0)
        sys.exit(0)


@pytest.mark.parametrize(
    "node",
    [
        {"type": "agent", "config": {"provider": "exiting"}},
        {"type": "vote", "config": {"agents": {n: {"provider": "exiting"} for n in "ab"}}},
    ],
    ids=["agent", "vote"],
)
def test_so_does_a_plugged_in_provider(node: dict[str, Any]) -> None:
    registry = builtin_registry()
    registry.provider("exiting", ProviderConfig, lambda _config, _registry: Exiting())
    assert message(of_one(node, registry)) == SAID[exits]


async def test_a_tool_that_exits_is_told_to_the_model_and_the_session_beside_it_goes_on() -> None:
    calls = {"content": "", "calls": [{"name": "exits", "arguments": {}}]}
    agent = {"provider": "scripted", "answers": [calls, "done"], "tools": ["exits"]}
    registry = builtin_registry()

    def tool() -> str:
        sys.exit(0)

    registry.function("exits", tool)
    graph = of_one({"type": "agent", "config": agent}, registry)

    async def slow(_: Context) -> str:
        await asyncio.sleep(0.05)
        return "beside"

    async with Engine(db=None) as engine:
        other = await engine.start(alone(slow))
        session = await engine.start(graph)
        result = await session.result()
        events = [event async for event in session.events()]
        told = [event.data for event in events if event.event == "tool_execution"]
        beside = await other.result()
    assert (result.status, result.output) == ("completed", "done")
    assert told[0]["failed"]
    assert told[0]["output"].startswith("SystemExit: 0")
    assert beside.output == "beside"


# What is meant for the program


def test_a_real_ctrl_c_in_a_nodes_code_is_not_the_nodes_error() -> None:
    def works(_: Context) -> str:
        signal.raise_signal(signal.SIGINT)
        return "never"

    async def main() -> None:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            async with Engine(db=None) as engine:
                await engine.run(alone(works))
        finally:
            signal.signal(signal.SIGINT, before)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


def test_a_handler_of_the_program_that_exits_ends_the_program() -> None:
    def leave(*_: Any) -> None:
        sys.exit(7)

    def works(_: Context) -> str:
        os.kill(os.getpid(), signal.SIGUSR1)
        return "never"

    before = signal.signal(signal.SIGUSR1, leave)
    try:
        with pytest.raises(SystemExit):
            limited(_run(works))
    finally:
        signal.signal(signal.SIGUSR1, before)


async def _run(function: Any) -> Any:
    async with Engine(db=None) as engine:
        return await engine.run(alone(function))


def test_a_cancelled_session_is_cancelled_and_a_closed_coroutine_closes() -> None:
    error: list[BaseException] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(600)
        except BaseException as raised:
            error.append(confined(raised))
            raise

    coroutine = waits()
    loop = asyncio.new_event_loop()
    loop.call_soon(loop.stop)
    task = loop.create_task(coroutine)
    loop.run_forever()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    assert isinstance(error.pop(), asyncio.CancelledError)

    async def yields() -> None:
        try:
            await _Never()
        except BaseException as raised:
            error.append(confined(raised))
            raise

    opened = yields()
    opened.send(None)
    opened.close()
    assert isinstance(error.pop(), GeneratorExit)


class _Never:
    def __await__(self) -> Any:
        yield


def test_an_interrupt_raised_in_another_thread_is_the_codes_own() -> None:
    found: list[BaseException] = []

    def work() -> None:
        try:
            interrupts()
        except KeyboardInterrupt as error:
            found.append(confined(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert isinstance(found[0], Exited)


def test_code_that_ends_its_own_process_is_a_failed_python_node() -> None:
    def said(code: str) -> str:
        graph = of_one({"type": "python", "config": {"code": code}})
        return message(graph, allow_python=True)

    assert "os._exit" in said("import os\nprint('half')\nos._exit(0)")
    assert "exit code 3" in said("import os\nos._exit(3)")
    assert "KeyboardInterrupt" in said("raise KeyboardInterrupt")
