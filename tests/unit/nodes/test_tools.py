"""Agents call tools, are told what came of it, and no finished turn or call is done twice."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from rondel import Engine, Graph, builtin_registry
from rondel.engine.protocols import Emit
from rondel.errors import CallError, ModelError
from rondel.models.model import ModelAnswer, ProviderConfig, Request, ToolCall
from rondel.nodes.tools import OUTPUT_BYTES
from rondel.tools.function import FunctionTool
from tests.unit.nodes.durable import DurableContext, durable, scripted
from tests.unit.nodes.running import problems, registry_with


def search(query: str, limit: int = 2) -> list[str]:
    """Search the library."""
    return [query] * limit


async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


def broken() -> str:
    raise KeyError("no\nluck")


def exhausted() -> str:
    raise StopIteration


FUNCTIONS: dict[str, Any] = {
    "search": search,
    "wait": wait,
    "broken": broken,
    "exhausted": exhausted,
    "large": lambda: "é" * OUTPUT_BYTES,
    "nothing": lambda: None,
    "halves": lambda: "a \ud800 b",
}


def calling(*calls: tuple[str, dict[str, Any]], content: str = "") -> dict[str, Any]:
    """A scripted answer that calls tools."""
    return {
        "content": content,
        "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }


def processor(*answers: Any, functions: dict[str, Any] | None = None, **config: Any) -> Any:
    registry = registry_with(**(functions or FUNCTIONS))
    config = scripted(*answers, **{"tools": [*(functions or FUNCTIONS)], **config})
    valid = registry.config_model("node", "agent").model_validate(config)
    return registry.build("node", "agent", valid)


def process(ctx: DurableContext, *answers: Any, **config: Any) -> Emit:
    outcome: Emit = asyncio.run(processor(*answers, **config).process(ctx))
    return outcome


def executed(*calls: tuple[str, dict[str, Any]], **config: Any) -> list[dict[str, Any]]:
    """What is told of calls, in their order."""
    ctx = durable("t")
    process(ctx, calling(*calls), "done", **config)
    return [value for name, value in ctx.parts.items() if " call " in name]


# The loop


def test_a_call_is_run_and_its_result_leads_to_the_answer() -> None:
    ctx = durable("t")
    emit = process(ctx, calling(("search", {"query": "x"}), content="let me see"), "found")
    assert emit.messages[0].text == "found"
    assert list(ctx.parts) == ["turn 1", "turn 1 call 1 search", "turn 2"]
    assert ctx.events == [
        ("tool_execution", {"tool": "search", "input": {"query": "x"}, "output": '["x","x"]'})
    ]
    assert emit.state == 2
    assert len(ctx.charged) == 2
    assert [data["chunk"] for _, data in ctx.emitted] == ["let me see", "", "found"]


def test_halves_of_characters_in_what_a_tool_says_are_replaced() -> None:
    [told] = executed(("halves", {}))
    assert told == {"tool": "halves", "input": {}, "output": "a \ufffd b"}


@dataclass
class Watched:
    """A model that calls a tool, then answers; it keeps what it was asked."""

    requests: list[Request] = field(default_factory=list)

    async def answer(self, request: Request) -> ModelAnswer:
        self.requests.append(request)
        if len(request.turns) == 0:
            calls = (
                ToolCall("a", "search", {"query": "x"}),
                ToolCall("b", "search", malformed="{"),
            )
            return ModelAnswer("hm", calls=calls, record={"kind": "own"})
        return ModelAnswer("done")


def watched(**config: Any) -> tuple[Any, Watched]:
    model = Watched()
    registry = registry_with(**FUNCTIONS)
    registry.provider("watched", ProviderConfig, lambda _config, _registry: model)
    kind = registry.config_model("node", "agent")
    return registry.build("node", "agent", kind(provider="watched", **config)), model


def test_the_model_is_told_its_tools_and_what_came_of_its_calls() -> None:
    agent, model = watched(tools=["search", "wait"])
    asyncio.run(agent.process(durable("t")))
    first, second = model.requests
    assert [tool.name for tool in first.tools] == ["search", "wait"]
    assert first.tools[0].description == "Search the library."
    assert first.tools[0].parameters["properties"]["query"]["type"] == "string"
    assert first.tools[0].parameters["required"] == ["query"]
    (turn,) = second.turns
    assert (turn.content, turn.record) == ("hm", {"kind": "own"})
    assert [(result.id, result.content, result.failed) for result in turn.results] == [
        ("a", '["x","x"]', False),
        ("b", "the arguments are no JSON object; call it again with one", True),
    ]
    assert first.idempotency_key != second.idempotency_key
    assert (first.index, second.index) == (0, 1)


def test_calls_of_one_answer_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=60)
    calls = [("meet", {}), ("meet", {})]
    functions = {"meet": lambda: str(both.wait() >= 0)}
    assert [each["output"] for each in executed(*calls, functions=functions)] == ["True", "True"]


def test_rules_of_a_script_see_what_the_tools_said() -> None:
    rules = [
        {"when": 'input.contains("xx")', "answer": "done"},
        {"when": "true", "answer": calling(("search", {"query": "xx"}))},
    ]
    emit = process(durable("t"), provider="scripted", rules=rules, answers=[])
    assert emit.messages[0].text == "done"


def test_more_calls_than_allowed_fail_the_step_and_are_not_run() -> None:
    ctx = durable("t")
    calls = [calling(("search", {"query": "x"}), ("search", {"query": "y"}))]
    with pytest.raises(ModelError, match=r"more than 3 tools in one step; raise max_tool_calls"):
        process(ctx, *calls, max_tool_calls=3)
    assert len(ctx.events) == 2


def test_a_tool_agent_with_a_schema_is_corrected_too() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    ctx = durable("t")
    answers = calling(("search", {"query": "x"})), "seven", '{"n": 7}'
    emit = process(ctx, *answers, output_schema=schema)
    assert emit.messages[0].data == {"n": 7}
    assert [name for name in ctx.parts if "call" not in name] == ["turn 1", "turn 2", "turn 3"]


def test_an_agent_without_tools_is_one_call_and_no_sub_step() -> None:
    ctx = durable("t")
    assert process(ctx, calling(("search", {})), tools=[]).state == 1
    assert (ctx.parts, len(ctx.charged)) == ({}, 1)


def test_a_simulated_agent_calls_no_tools_and_starts_no_server() -> None:
    registry = registry_with()
    tools = [{"mcp": {"command": "no-such-command"}}]
    config = registry.config_model("node", "agent")(tools=tools)
    assert asyncio.run(registry.build("node", "agent", config).process(durable("t"))).messages


# Crashes


class Crash(BaseException):
    """The process is gone."""


@dataclass
class CrashingContext(DurableContext):
    """A context that dies after so many sub-steps are in the journal."""

    dies_after: int = 0

    async def substep(self, name: str, call: Any, event: str = "") -> Any:
        known = name in self.parts
        value = await super().substep(name, call, event)
        if not known and len(self.parts) >= self.dies_after:
            self.dies_after = 10**9
            raise Crash
        return value


@settings(deadline=None, max_examples=30)
@given(
    turns=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    dies_after=st.integers(1, 12),
)
def test_a_crash_repeats_neither_finished_turns_nor_finished_calls(
    turns: list[int], dies_after: int
) -> None:
    ran: list[str] = []

    async def note(what: str) -> str:
        ran.append(what)
        return what

    answers = [
        calling(*(("note", {"what": f"{turn}.{place}"}) for place in range(calls)))
        for turn, calls in enumerate(turns)
    ]
    ctx = CrashingContext(durable("t").new_messages, node_id="Node", dies_after=dies_after)

    def again() -> Emit:
        return process(ctx, *answers, "done", functions={"note": note}, max_tool_calls=99)

    try:
        emit = again()
    except Crash:
        emit = again()
    assert emit.messages[0].text == "done"
    assert sorted(ran) == sorted(set(ran))
    assert len(ran) == sum(turns)
    assert len(ctx.charged) == len(turns) + 1


def test_a_retry_goes_on_after_what_was_done() -> None:
    ran: list[str] = []
    ctx = durable("t")
    answers = calling(("note", {"what": "a"})), {"error": "busy"}, "done"

    def note(what: str) -> None:
        ran.append(what)

    functions = {"note": note}
    with pytest.raises(ModelError, match="busy"):
        process(ctx, *answers, functions=functions)
    ctx.attempt = 2
    assert process(ctx, *answers, functions=functions).messages[0].text == "done"
    assert ran == ["a"]


async def test_the_usage_of_every_turn_is_in_the_sessions_ledger() -> None:
    registry = builtin_registry()
    registry.function("search", search)
    config = scripted(calling(("search", {"query": "x"})), "done", tools=["search"])
    nodes = [{"id": "A", "type": "agent", "config": config}]
    graph = Graph.loads(json.dumps({"graph": {"id": "g", "nodes": nodes}}), registry=registry)

    async with Engine(db=None) as engine:
        session = await engine.start(graph, "t")
        result = await session.settled()
        events = [event async for event in session.events()]
    assert (result.status, result.usage.model_calls, result.usage.input_tokens) == (
        "completed",
        2,
        10,
    )
    (event,) = [event for event in events if event.event == "tool_execution"]
    assert event.data == {"tool": "search", "input": {"query": "x"}, "output": '["x","x"]'}
    assert event.seq


def test_a_session_that_lost_its_process_goes_on_after_the_calls_that_were_done(
    tmp_path: Path,
) -> None:
    ran: list[str] = []
    hangs = True

    async def note(what: str) -> str:
        if what == "b" and hangs:
            await asyncio.Event().wait()
        ran.append(what)
        return what

    registry = builtin_registry()
    registry.function("note", note)
    calls = calling(("note", {"what": "a"})), calling(("note", {"what": "b"}))
    nodes = [{"id": "A", "type": "agent", "config": scripted(*calls, "done", tools=["note"])}]
    text = json.dumps({"graph": {"id": "g", "nodes": nodes}})

    async def interrupted() -> str:
        async with Engine(tmp_path / "s.db", registry=registry) as engine:
            session = await engine.start(Graph.loads(text, registry=registry), "t")
            async for event in session.events():
                if event.event == "tool_execution":
                    break
            return session.id

    async def resumed(id: str) -> Any:
        async with Engine(tmp_path / "s.db", registry=registry) as engine:
            return await (await engine.resume(id)).settled()

    id = asyncio.run(interrupted())
    hangs = False
    result = asyncio.run(resumed(id))
    assert (result.status, result.output, ran) == ("completed", "done", ["a", "b"])
    assert result.usage.model_calls == 3


def test_agents_inside_a_vote_may_use_tools() -> None:
    registry = registry_with(search=search)
    voter = scripted(
        calling(("search", {"query": "x"})), {"data": {"decision": "yes"}}, tools=["search"]
    )
    config = registry.config_model("node", "vote").model_validate({"agents": {"A": voter}})
    ctx = durable("t")
    emit = asyncio.run(registry.build("node", "vote", config).process(ctx))
    assert emit.messages[0].data["passed"] is True
    assert list(ctx.parts) == [
        "ballot A turn 1",
        "ballot A turn 1 call 1 search",
        "ballot A turn 2",
        "ballot A",
    ]


# What goes wrong is told to the model


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("broken", {}), "KeyError: 'no\\nluck'"),
        (("exhausted", {}), "StopIteration"),
        (("search", {}), "wrong arguments: query: Field required"),
        (("search", {"query": "x", "q": 1}), "wrong arguments: q: Extra inputs are not permitted"),
        (("search", {"query": "x", "limit": "many"}), "wrong arguments: limit: Input should be a"),
        (("serch", {}), "there is no tool 'serch'; did you mean 'search'?"),
    ],
)
def test_a_failed_call_is_an_error_result(call: tuple[str, dict[str, Any]], says: str) -> None:
    (told,) = executed(call)
    assert told["output"].startswith(says)
    assert told["failed"] is True


def test_a_call_that_takes_too_long_is_an_error_result() -> None:
    tools = [{"function": "wait", "timeout": "20ms"}]
    (told,) = executed(("wait", {"seconds": 60}), tools=tools)
    assert told["output"] == "it took longer than its timeout of 0.02 s"
    assert told["failed"] is True


def test_a_timeout_of_the_tools_own_is_not_taken_for_the_limit() -> None:
    def late() -> str:
        raise TimeoutError("the library did not answer")

    (told,) = executed(("late", {}), functions={"late": late})
    assert told["output"] == "TimeoutError: the library did not answer"


def test_a_large_output_is_cut_with_a_note() -> None:
    (told,) = executed(("large", {}))
    assert told["output"].endswith(f"[cut: these are the first 100000 of {2 * OUTPUT_BYTES} bytes]")
    assert len(told["output"].encode()) < OUTPUT_BYTES + 100


def test_what_is_no_text_is_told_as_json() -> None:
    (told,) = executed(("nothing", {}))
    assert told["output"] == "null"


# Functions


class Place(BaseModel):
    """Where."""

    city: str
    day: date | None = None


class Forecast:
    """Says what the weather will be."""

    def __call__(
        self,
        place: Place,
        unit: Literal["C", "F"] = "C",
        days: Annotated[int, Field(ge=1, description="How many days.")] = 1,
    ) -> dict[str, Any]:
        return {"place": place, "unit": unit, "days": days}


def test_the_schema_comes_from_the_types() -> None:
    spec = FunctionTool("forecast", Forecast()).spec
    assert spec.description == "Says what the weather will be."
    assert spec.parameters["properties"]["unit"]["enum"] == ["C", "F"]
    assert spec.parameters["properties"]["days"]["description"] == "How many days."
    assert spec.parameters["required"] == ["place"]


def test_arguments_become_what_the_types_say() -> None:
    arguments = {"place": {"city": "Bern", "day": "2026-01-02"}}
    said = asyncio.run(FunctionTool("forecast", Forecast()).call(arguments)).text
    assert json.loads(said) == {
        "place": {"city": "Bern", "day": "2026-01-02"},
        "unit": "C",
        "days": 1,
    }


def test_arguments_may_have_any_name_and_defaults_stay_the_functions_own() -> None:
    marker = object()

    def odd(schema: str, _json: int = 1, copy: Any = marker, **rest: int) -> list[Any]:
        return [schema, _json, copy is marker, rest]

    said = asyncio.run(FunctionTool("odd", odd).call({"schema": "s", "more": 2})).text
    assert json.loads(said) == ["s", 1, True, {"more": 2}]


def test_a_partial_function_is_a_tool_without_what_is_set() -> None:
    tool = FunctionTool("search", functools.partial(search, limit=1))
    assert asyncio.run(tool.call({"query": "x"})).text == '["x"]'


def unnamed(a: int, /) -> int:
    return a


def many(*values: int) -> int:
    return sum(values)


def untold(value: "NoSuchType") -> int:  # type: ignore[name-defined]  # noqa: F821, UP037
    return value


@pytest.mark.parametrize("function", [unnamed, many, untold])
def test_a_function_that_models_cannot_call_is_refused(function: Any) -> None:
    with pytest.raises(CallError, match=r"^the function 'f' cannot be a tool: .+$"):
        FunctionTool("f", function)


# Configs


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        (["serch"], "tools.0.function.function: there is no function named 'serch'"),
        ([{"function": "serch"}], "tools.0.function.function: there is no function named"),
        ([{}], "tools.0.function.function: Field required"),
        ([{"mcp": {}}], "tools.0.mcp.mcp: an MCP server needs either a command or a url"),
        ([{"mcp": {"command": "a", "url": "http://b"}}], "tools.0.mcp.mcp: an MCP server needs"),
        ([{"mcp": {"command": ""}}], "tools.0.mcp.mcp.command: "),
        ([{"mcp": {"url": "b"}}], "tools.0.mcp.mcp.url: must be an address"),
        ([{"mcp": {"url": "http://b", "env": {}}}], "tools.0.mcp.mcp: 'env' belongs to"),
        ([{"mcp": {"command": "a"}, "alow": ["x"]}], "tools.0.mcp.alow: "),
        ([{"mcp": {"command": "a"}, "allow": []}], "tools.0.mcp.allow: "),
        ([{"mcp": {"command": "a"}, "timeout": 0}], "tools.0.mcp.timeout: "),
    ],
)
def test_wrong_tools_are_told_at_load_with_their_place(tools: list[Any], says: str) -> None:
    (problem,) = problems("agent", {"tools": tools}, search=search)
    assert problem.startswith(says)


def test_a_name_that_models_cannot_say_is_refused() -> None:
    registry = registry_with()
    registry.function("my.tool", search)
    with pytest.raises(ValueError, match=r"models cannot call a tool 'my\.tool'; register it"):
        registry.config_model("node", "agent").model_validate({"tools": ["my.tool"]})


def test_the_environment_of_a_server_does_not_show() -> None:
    server = {"command": "serve", "env": {"TOKEN": "planted-secret"}}
    config = registry_with().config_model("node", "agent")(tools=[{"mcp": server}])
    assert "planted-secret" not in repr(config)
    assert "planted-secret" not in config.model_dump_json()
