from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rondel.engine.protocols import Usage
from rondel.errors import ModelError
from rondel.models.scripted import ScriptedAnswer
from tests.unit.models.asking import ask, model


@given(answers=st.lists(st.text(max_size=5), min_size=1, max_size=6), calls=st.integers(1, 12))
def test_answers_come_in_order_and_the_last_one_is_repeated(answers: list[str], calls: int) -> None:
    scripted = model("scripted", answers=answers)
    said = [ask(scripted, index=index).content for index in range(calls)]
    assert said == [answers[min(index, len(answers) - 1)] for index in range(calls)]


def test_an_answer_brings_its_data_and_usage() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100}
    scripted = model(
        "scripted",
        name="gpt-4o",
        answers=[{"content": "ok", "data": {"score": 70}, "usage": usage}, "free"],
    )
    first, second = ask(scripted), ask(scripted, index=1)
    assert (first.content, first.data) == ("ok", {"score": 70})
    assert (first.usage.input_tokens, first.usage.output_tokens) == (1000, 100)
    assert first.usage.usd > 0
    assert second.usage == Usage("gpt-4o")


def test_data_of_one_answer_is_not_shared_with_the_next() -> None:
    scripted = model("scripted", answers=[{"data": {"score": 1}}])
    ask(scripted).data["score"] = 99
    assert ask(scripted).data == {"score": 1}


@given(content=st.text(max_size=20), chunks=st.integers(1, 25))
def test_the_chunks_add_up_to_the_content(content: str, chunks: int) -> None:
    pieces: list[str] = []
    scripted = model("scripted", answers=[{"content": content, "chunks": chunks}])
    assert ask(scripted, emit=pieces.append).content == content
    assert "".join(pieces) == content
    assert len(pieces) <= chunks


def test_written_chunks_are_the_content() -> None:
    pieces: list[str] = []
    scripted = model("scripted", answers=[{"chunks": ["Once ", "upon"]}])
    assert ask(scripted, emit=pieces.append).content == "Once upon"
    assert pieces == ["Once ", "upon"]


def test_an_error_is_raised_after_what_was_streamed() -> None:
    pieces: list[str] = []
    scripted = model("scripted", answers=[{"content": "half", "error": "rate limited"}])
    with pytest.raises(ModelError, match="rate limited") as caught:
        ask(scripted, emit=pieces.append)
    assert caught.value.retryable
    assert pieces == ["half"]


def test_a_delay_is_waited_for() -> None:
    started = time.monotonic()
    ask(model("scripted", answers=[{"content": "slow", "delay": "50ms", "chunks": 2}]))
    assert time.monotonic() - started >= 0.05


@pytest.mark.parametrize(
    ("written", "seconds"), [(2, 2), (0.5, 0.5), ("500ms", 0.5), ("90s", 90), ("2h", 7200)]
)
def test_durations(written: Any, seconds: float) -> None:
    assert ScriptedAnswer.model_validate({"delay": written}).delay == seconds


def test_the_first_rule_that_holds_answers() -> None:
    scripted = model(
        "scripted",
        rules=[
            {"when": "round == 1 && input.contains('why')", "answer": "first"},
            {"when": "node == 'Critic'", "answer": {"data": {"score": 50}}},
            {"when": "has(data.score) && data.score > 80", "answer": "good"},
        ],
    )
    assert ask(scripted, "why?").content == "first"
    assert ask(scripted, "how?", node_id="Critic").data == {"score": 50}
    assert ask(scripted, "why?", round=2, data={"score": 81}).content == "good"


def test_no_rule_that_holds_is_an_error_that_retrying_does_not_mend() -> None:
    scripted = model("scripted", rules=[{"when": "round > 5", "answer": "late"}])
    with pytest.raises(ModelError, match="node 'Writer' holds in round 2") as caught:
        ask(scripted, round=2)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "needs either answers or rules"),
        ({"answers": ["a"], "rules": [{"when": "true", "answer": "b"}]}, "either answers or rules"),
        ({"answers": [{"contents": "a"}]}, "Extra inputs"),
        ({"answers": [7]}, "valid dictionary"),
        ({"answers": [{"delay": "soon"}]}, "must be a duration"),
        ({"answers": [{"delay": -1}]}, "0 or more"),
        ({"answers": [{"content": "ab", "chunks": ["a"]}]}, "do not add up"),
        ({"answers": [{"finish_reason": 7}]}, "valid string"),
        ({"rules": [{"when": "roud == 1", "answer": "a"}]}, "did you mean 'round'?"),
    ],
)
def test_a_wrong_script_is_refused(config: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        model("scripted", **config)
    assert says in str(caught.value)


def test_an_answer_may_call_tools() -> None:
    calls = [{"name": "weather", "arguments": {"town": "Bern"}}, {"name": "clock"}]
    asked = model("scripted", answers=[{"calls": calls}, "Sunny."])
    first = ask(asked, index=0)
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("weather", {"town": "Bern"}),
        ("clock", {}),
    ]
    assert len({call.id for call in first.calls}) == 2
    assert ask(asked, index=1).calls == ()
