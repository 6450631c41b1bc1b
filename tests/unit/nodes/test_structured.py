"""An agent with an `output_schema` says it in data, is corrected once, and fails clearly."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel.engine.protocols import Emit
from rondel.errors import ModelError, StepFailed
from rondel.models.model import ModelAnswer, ProviderConfig, Request
from rondel.nodes.structured import AnswerSchema, Misfit, checked_schema
from tests.unit.nodes.durable import DurableContext, durable, run_node, scripted
from tests.unit.nodes.running import built, problems, registry_with, step

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0}, "why": {"type": "string"}},
    "required": ["score"],
    "additionalProperties": False,
}
USAGE = {"input_tokens": 10, "output_tokens": 3}


def outcome(ctx: DurableContext, *answers: Any, **config: Any) -> Emit:
    agent = built("agent", **scripted(*answers, output_schema=SCHEMA, **config))
    result = step(agent, ctx)
    assert isinstance(result, Emit)
    return result


# Reading


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        (ModelAnswer('{"score": 3}'), {"score": 3}),
        (ModelAnswer('Well: ```json\n{"score": 3, "why": "x"}\n```'), {"score": 3, "why": "x"}),
        (ModelAnswer('First {"score": 1}, no, {"score": 2}.'), {"score": 2}),
        (ModelAnswer('A draft {"score": 1}, and {"other": 2}.'), {"score": 1}),
        (ModelAnswer('{"score": 1}', {"score": 2}), {"score": 2}),
        (ModelAnswer('{"score": 1}', {"score": "high"}), {"score": 1}),
    ],
)
def test_the_answer_is_read_from_its_data_or_else_from_the_last_json_that_fits(
    answer: ModelAnswer, read: dict[str, Any]
) -> None:
    assert AnswerSchema(SCHEMA).read(answer) == read


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (ModelAnswer("no"), "no JSON object"),
        (ModelAnswer('{"score": "high"}'), "$.score: 'high' is not of type 'integer'"),
        (ModelAnswer('{"score": -1}'), "$.score: -1 is less than the minimum of 0"),
        (ModelAnswer("{}", {"why": "x"}), "$: 'score' is a required property"),
    ],
)
def test_a_misfit_says_what_is_wrong_and_where(answer: ModelAnswer, says: str) -> None:
    misfit = AnswerSchema(SCHEMA).read(answer)
    assert isinstance(misfit, Misfit)
    assert says in misfit.errors[0]
    assert says in misfit.correction


def test_only_the_first_errors_are_told_and_none_at_length() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    misfit = AnswerSchema(schema).read(ModelAnswer("", {f"k{n}": "x" * 5000 for n in range(9)}))
    assert isinstance(misfit, Misfit)
    assert len(misfit.errors) == 4
    assert misfit.errors[-1] == "and 6 more"
    assert max(map(len, misfit.errors)) <= 300


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=8,
    )
)
def test_no_schema_makes_the_check_crash(schema: Any) -> None:
    with contextlib.suppress(ValueError):
        checked_schema({"type": "object", "properties": schema, "$defs": schema})


# Asking


def test_an_answer_that_fits_becomes_data_in_one_call_without_a_record_of_its_own() -> None:
    ctx = durable("t")
    emit = outcome(ctx, {"content": 'It is {"score": 3}.', "data": {"extra": 1}, "usage": USAGE})
    assert emit.messages[0].text == 'It is {"score": 3}.'
    assert emit.messages[0].data == {"extra": 1, "score": 3}
    assert (emit.state, ctx.parts, len(ctx.charged)) == (1, {}, 1)


def test_an_answer_that_does_not_fit_is_asked_for_once_more() -> None:
    ctx = durable("t")
    emit = outcome(ctx, {"content": "three", "usage": USAGE}, '{"score": 3}')
    assert emit.messages[0].data == {"score": 3}
    assert emit.state == 2
    assert len(ctx.charged) == 2
    assert list(ctx.parts) == ["turn 1"]
    assert ctx.emitted == [
        ("token_stream", {"chunk": chunk, "agent": "Node"})
        for chunk in ("three", "", '{"score": 3}')
    ]


def test_the_model_is_told_the_schema_and_what_was_wrong() -> None:
    asked: list[Request] = []

    class Stubborn:
        async def answer(self, request: Request) -> ModelAnswer:
            asked.append(request)
            return ModelAnswer("no" if len(asked) == 1 else '{"score": 1}')

    registry = registry_with()
    registry.provider("stubborn", ProviderConfig, lambda _config, _registry: Stubborn())
    config = registry.config_model("node", "agent")(provider="stubborn", output_schema=SCHEMA)
    step(registry.build("node", "agent", config), durable("t"))
    first, second = asked
    assert first.schema == second.schema == SCHEMA
    assert (first.turns, second.turns[0].content) == ((), "no")
    assert "no JSON object" in second.turns[0].reply
    assert first.idempotency_key != second.idempotency_key
    assert (first.index, second.index) == (0, 1)


def test_two_answers_that_do_not_fit_fail_the_step_with_one_line() -> None:
    result = run_node("agent", scripted("one", '{"score": "two"}', output_schema=SCHEMA))
    assert result.status == "failed"
    assert "\n" not in result.message
    assert "no answer that fits its JSON Schema, asked twice" in result.message
    assert "$.score: 'two' is not of type 'integer'" in result.message
    assert result.usage.model_calls == 2


def test_a_crash_in_the_repair_does_not_ask_the_first_question_again() -> None:
    ctx = durable("t")
    asked: list[int] = []

    class Crash(BaseException):
        pass

    class Crashing:
        async def answer(self, request: Request) -> ModelAnswer:
            asked.append(request.index)
            if len(asked) == 2:
                raise Crash
            return ModelAnswer("no" if request.index == 0 else '{"score": 1}')

    registry = registry_with()
    registry.provider("crashing", ProviderConfig, lambda _config, _registry: Crashing())
    config = registry.config_model("node", "agent")(provider="crashing", output_schema=SCHEMA)
    agent = registry.build("node", "agent", config)
    with pytest.raises(Crash):
        asyncio.run(agent.process(ctx))
    assert asyncio.run(agent.process(ctx)).messages[0].data == {"score": 1}
    assert asked == [0, 1, 1]


def test_a_retry_of_the_node_goes_on_in_the_script() -> None:
    retry = {"max_attempts": 2, "min_wait": 0, "max_wait": 0}
    config = scripted("one", "two", '{"score": 3}', output_schema=SCHEMA)
    result = run_node("agent", config, retry=retry)
    assert (result.status, result.data) == ("completed", {"score": 3})


def test_a_panel_asks_with_its_own_schema() -> None:
    voter = scripted({"data": {"decision": "yes"}}, output_schema=SCHEMA)
    result = run_node("vote", {"agents": {"A": voter}})
    assert result.data["passed"] is True


def test_a_simulated_agent_fills_its_schema() -> None:
    result = run_node("agent", {"output_schema": SCHEMA, "score": {"start": 77}})
    assert result.data["score"] == 77


# Loading


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "array"}, "must describe an object (type: object)"),
        ({}, "must describe an object (type: object)"),
        ({"type": "obj"}, "is no JSON Schema at 'type': 'obj'"),
        ({"type": "object", "properties": {"a": {"minimum": "x"}}}, "is no JSON Schema at"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "is no JSON Schema at"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}, "has a $ref"),
        ({"type": "object", "properties": {"a": {"$ref": "http://x.test/y"}}}, "has a $ref"),
    ],
)
def test_a_wrong_schema_is_told_at_load(schema: dict[str, Any], says: str) -> None:
    (problem,) = problems("agent", {"output_schema": schema})
    assert problem.startswith(f"output_schema: {says}")


def test_a_schema_may_refer_to_itself() -> None:
    schema = {
        "type": "object",
        "$defs": {"tree": {"type": "object", "properties": {"sub": {"$ref": "#/$defs/tree"}}}},
        "properties": {"tree": {"$ref": "#/$defs/tree"}},
    }
    assert problems("agent", {"output_schema": schema}) == []


def test_the_failure_may_be_retried() -> None:
    with pytest.raises(ModelError) as raised:
        outcome(durable("t"), "one")
    assert raised.value.retryable


# Patterns and large answers


def patterned(**keywords: Any) -> AnswerSchema:
    schema: dict[str, Any] = {"type": "object", **keywords}
    return AnswerSchema(checked_schema(schema))


@pytest.mark.parametrize(
    "keywords",
    [
        {"properties": {"x": {"pattern": "(a|aa)+$"}}},
        {"patternProperties": {"(a|aa)+$": {"type": "string"}}},
        {"patternProperties": {"(a|aa)+$": True}, "additionalProperties": False},
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "properties": {"in": {"$ref": "#"}, "x": {"pattern": "(a|aa)+$"}},
        },
    ],
)
def test_a_slow_pattern_of_a_schema_is_an_error_in_time(keywords: dict[str, Any]) -> None:
    slow = "a" * 60 + "!"
    said = {"in": {"x": slow}, slow: "y", "x": slow}
    started = time.process_time()
    with pytest.raises(StepFailed, match="took longer than 100 ms"):
        patterned(**keywords).read(ModelAnswer("", said))
    assert time.process_time() - started < 2


def test_patterns_of_a_schema_are_kept() -> None:
    schema = patterned(
        properties={"x": {"pattern": "^中+$"}},
        patternProperties={"^n_": {"type": "integer"}},
        additionalProperties=False,
    )
    assert schema.read(ModelAnswer("", {"x": "中中", "n_a": 1})) == {"x": "中中", "n_a": 1}
    for wrong in ({"x": "中a"}, {"n_a": "1"}, {"other": 1}):
        assert isinstance(schema.read(ModelAnswer("", wrong)), Misfit)
    with pytest.raises(ValueError, match="unevaluatedProperties"):
        patterned(patternProperties={"a": True}, unevaluatedProperties=False)


async def test_a_large_answer_is_checked_beside_the_event_loop() -> None:
    schema = patterned(properties={"x": {"items": {"anyOf": [{"type": "string"}, {"minimum": 0}]}}})
    answer = ModelAnswer("", {"x": list(range(40_000))})

    started = time.perf_counter()
    longest, last = 0.0, time.perf_counter()
    reading = asyncio.ensure_future(schema.read_beside(answer))
    while not reading.done():
        await asyncio.sleep(0)
        longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
    assert await reading == answer.data
    assert longest < (time.perf_counter() - started) / 2
