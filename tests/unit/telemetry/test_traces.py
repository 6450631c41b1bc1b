"""Sessions as traces: what spans there are, what they say, and that they outlive processes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode

from rondel import Context, Engine, Graph
from rondel.errors import CallError
from rondel.sessions.registry import default_registry
from rondel.telemetry import names
from tests.unit.server.running import ASKING, REVIEW
from tests.unit.sessions.test_failed_sessions import Shaky, refining
from tests.unit.telemetry.spans import Collected, drawn


def load(text: str, folder: Path) -> Graph:
    """The graph of a text."""
    file = folder / "graph.yaml"
    file.write_text(text, "utf-8")
    return Graph.load(file)


def run(graph: Graph, collected: Collected, status: str = "completed") -> None:
    """Run a session to its end."""

    async def main() -> None:
        async with Engine(db=None, tracer_provider=collected.provider) as engine:
            assert (await engine.run(graph, "tea")).status == status

    asyncio.run(main())


def test_a_session_is_a_trace_of_rounds_steps_and_model_calls(tmp_path: Path) -> None:
    collected = Collected()
    run(load(REVIEW, tmp_path), collected)
    model = "chat scripted"
    a_round = [
        "  round Writer",
        *("    invoke_agent Writer", f"      {model}"),
        *("    invoke_agent Critic", f"      {model}"),
    ]
    expected = ["invoke_workflow review", *a_round * 3, "  passthrough Final"]
    assert drawn(collected.spans) == expected
    assert len({span.context.trace_id for span in collected.spans}) == 1


def test_spans_carry_scores_ends_tokens_and_cost(tmp_path: Path) -> None:
    collected = Collected()
    one = "{content: one, usage: {input_tokens: 20, output_tokens: 3}}"
    run(load(REVIEW.replace("one", one, 1), tmp_path), collected)
    rounds = [dict(span.attributes or {}) for span in collected.spans if "round" in span.name]
    assert [each[names.SCORE] for each in rounds] == [50, 70, 95]
    assert names.EXIT_REASON not in rounds[0]
    last = rounds[-1]
    assert last[names.EXIT_REASON] == "score_threshold_reached"
    assert (last["rondel.loop.value"], last["rondel.loop.threshold"]) == (95, 90)
    assert last["rondel.loop.bounded"] is False
    session = dict(collected.named("invoke_workflow review").attributes or {})
    assert session["gen_ai.operation.name"] == "invoke_workflow"
    assert session["gen_ai.workflow.name"] == "review"
    assert session[names.STATUS] == "completed"
    calls = [span for span in collected.spans if span.name == "chat scripted"]
    assert {span.kind for span in calls} == {SpanKind.CLIENT}
    told = [dict(span.attributes or {}) for span in calls]
    assert {each["gen_ai.provider.name"] for each in told} == {"scripted"}
    for key, total in (
        ("gen_ai.usage.input_tokens", names.SESSION_INPUT),
        ("gen_ai.usage.output_tokens", names.SESSION_OUTPUT),
    ):
        assert sum(int(str(each[key])) for each in told) == session[total] > 0


def test_every_span_lies_within_its_parent(tmp_path: Path) -> None:
    collected = Collected()
    run(load(REVIEW, tmp_path), collected)
    known = {span.context.span_id: span for span in collected.spans}
    for span in collected.spans:
        assert span.start_time is not None
        assert span.end_time is not None
        if span.parent is not None:
            parent = known[span.parent.span_id]
            assert parent.start_time is not None
            assert parent.end_time is not None
            assert parent.start_time <= span.start_time <= span.end_time <= parent.end_time


def test_a_session_that_goes_on_elsewhere_goes_on_with_its_trace(tmp_path: Path) -> None:
    graph, db = load(ASKING, tmp_path), tmp_path / "sessions.db"
    first, second = Collected(), Collected()

    async def ask() -> str:
        async with Engine(db, tracer_provider=first.provider) as engine:
            session = await engine.start(graph, "tea")
            assert (await session.settled()).status == "waiting"
            return session.id

    async def answer(id: str) -> None:
        async with Engine(db, tracer_provider=second.provider) as engine:
            session = engine.get(id)
            await session.answer("yes")
            assert (await session.result()).status == "completed"

    asyncio.run(answer(asyncio.run(ask())))
    assert [span.name for span in first.spans] == ["literal Draft"]
    tree = ["invoke_workflow asking", "  literal Draft", "  human Person", "  passthrough End"]
    assert drawn([*first.spans, *second.spans]) == tree
    person = second.named("human Person")
    assert [event.name for event in person.events] == [
        "human_input_required",
        "human_input_received",
    ]
    assert all("yes" not in dict(event.attributes or {}).values() for event in person.events)


async def test_a_step_that_failed_is_an_error_and_the_session_goes_on_in_the_same_trace(
    tmp_path: Path,
) -> None:
    shaky = Shaky("critic")
    graph, collected = refining(shaky), Collected()

    async with Engine(tmp_path / "s.db", tracer_provider=collected.provider) as engine:
        session = await engine.start(graph, "tea")
        assert (await session.settled()).status == "failed"
        shaky.failing.clear()
        await engine.resume(session.id, graph)
        assert (await session.result()).status == "completed"
    lines = drawn(collected.spans)
    assert lines.count("invoke_workflow refine") == 2
    failed = [span for span in collected.spans if span.status.status_code is StatusCode.ERROR]
    assert [span.name for span in failed] == ["function critic", "invoke_workflow refine"]
    assert "critic is out of order" in str(failed[0].status.description)
    rounds = [dict(span.attributes or {}) for span in collected.spans if "round" in span.name]
    assert [each[names.ROUND] for each in rounds] == [1, 2, 2, 3]
    assert len({span.context.trace_id for span in collected.spans}) == 1


async def test_a_fork_is_a_trace_of_its_own_that_names_its_parent(tmp_path: Path) -> None:
    collected = Collected()
    graph = load(REVIEW, tmp_path)

    async with Engine(tmp_path / "s.db", tracer_provider=collected.provider) as engine:
        session = await engine.start(graph, "tea")
        await session.result()
        fork = await session.fork(at="Writer[3]/Writer")
        await fork.result()
    first, second = [span for span in collected.spans if span.name == "invoke_workflow review"]
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    own = [span for span in collected.spans if span.context.trace_id == second.context.trace_id]
    assert len(own) < 8
    assert first.end_time is not None
    assert second.start_time is not None
    assert second.start_time >= first.end_time
    drawn(own)


def test_a_tool_lies_under_the_model_call_that_asked_for_it(tmp_path: Path) -> None:
    collected = Collected()
    registry = default_registry()
    registry.function("weather", lambda city: f"rain in {city}")
    file = tmp_path / "graph.yaml"
    file.write_text(CALLING, "utf-8")
    graph = Graph.load(file, registry=registry)
    run(graph, collected)
    assert drawn(collected.spans) == [
        "invoke_workflow calling",
        "  invoke_agent Guide",
        "    chat scripted",
        "      execute_tool weather",
        "    chat scripted",
    ]
    tool = collected.named("execute_tool weather")
    assert dict(tool.attributes or {})["gen_ai.tool.name"] == "weather"
    assert "rain" not in str(tool.attributes)


def test_spans_made_inside_a_node_lie_in_its_step() -> None:
    collected = Collected()
    own = collected.provider.get_tracer("mine")
    graph = Graph("own")

    @graph.node
    async def look(inp: Context) -> str:
        with own.start_as_current_span("query"):
            await asyncio.sleep(0)
        return inp.text

    run(graph, collected)
    assert drawn(collected.spans) == ["invoke_workflow own", "  function look", "    query"]


@pytest.mark.parametrize("sampler", [ALWAYS_OFF, TraceIdRatioBased(0.0)])
def test_a_trace_that_is_not_sampled_costs_and_tells_nothing(sampler: Any, tmp_path: Path) -> None:
    collected = Collected(sampler)
    run(load(REVIEW, tmp_path), collected)
    assert collected.spans == []


def test_who_takes_the_spans_cannot_break_a_session(tmp_path: Path) -> None:
    collected = Collected()

    class Broken(SpanProcessor):
        def on_start(self, *_: object, **__: object) -> None:
            raise RuntimeError("no")

        def force_flush(self, timeout_millis: int = 0) -> bool:
            raise RuntimeError("never")

    collected.provider.add_span_processor(Broken())
    run(load(REVIEW, tmp_path), collected)


def test_a_provider_that_cannot_trace_is_refused() -> None:
    with pytest.raises(CallError, match="not a TracerProvider of OpenTelemetry's SDK"):
        Engine(db=None, tracer_provider=trace.NoOpTracerProvider())


CALLING = """\
graph:
  id: calling
  nodes:
    - id: Guide
      type: agent
      config:
        provider: scripted
        tools: [weather]
        answers:
          - {calls: [{name: weather, arguments: {city: Bern}}]}
          - take an umbrella
"""
