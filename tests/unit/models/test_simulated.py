from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rondel.models.model import ModelAnswer
from rondel.models.prices import usd
from rondel.models.tokens import CJK, count_tokens
from tests.unit.models.asking import ask, model

REVIEWER = "You review articles and score them."
CHINESE_REVIEWER = "审阅文章并打分"


@given(seed=st.integers() | st.text(max_size=5), index=st.integers(0, 50), node=st.text(max_size=5))
def test_the_same_seed_node_and_call_give_the_same_answer(
    seed: int | str, index: int, node: str
) -> None:
    def answer() -> ModelAnswer:
        simulated = model("simulated", seed=seed, score={"noise": 5})
        return ask(simulated, index=index, node_id=node)

    assert answer() == answer()


def test_another_seed_node_or_role_gives_another_answer() -> None:
    said = {
        ask(model("simulated", seed=1)).content,
        ask(model("simulated", seed=2)).content,
        ask(model("simulated", seed=1), node_id="Editor").content,
        ask(model("simulated", seed=1), system="You are terse.").content,
    }
    assert len(said) == 4


@pytest.mark.parametrize("role", ["You write.", REVIEWER, "根据反馈改进文章", CHINESE_REVIEWER])
def test_each_answer_is_new_to_the_node_even_after_many(role: str) -> None:
    simulated = model("simulated", score={})
    seen: set[str] = set()
    for index in range(100):
        text = ask(simulated, role, index, system=role).content
        grams = {text[at : at + 8] for at in range(len(text) - 8)}
        assert len(grams - seen) > 0.15 * len(grams), f"call {index + 1} repeats itself"
        seen |= grams


def test_it_speaks_the_language_of_its_input() -> None:
    simulated = model("simulated")
    assert not CJK.search(ask(simulated, "Why loops?", system="改进文章").content)
    chinese = ask(simulated, "为什么循环应该有名字？", system="You write.").content
    assert chinese.startswith("关于「为什么循环应该有名字」的第1稿。")
    assert ask(simulated, "", system="审阅文章").content.startswith("对「审阅文章」的第1次评审。")


def test_the_topic_stays_the_same_from_round_to_round() -> None:
    writer, critic = model("simulated"), model("simulated", score={})
    text = "Why loops deserve names. In 200 words."
    for index in range(4):
        text = ask(writer, text, index, system="You write.").content
        assert text.startswith(f"Draft {index + 1} on “Why loops deserve names”.")
        text = ask(critic, text, index, system=REVIEWER).content
        assert text.startswith(f"Review {index + 1} of “Why loops deserve names”.")


def scores(calls: int, **config: Any) -> list[Any]:
    simulated = model("simulated", score=config)
    return [ask(simulated, index=index).data["score"] for index in range(calls)]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, [60, 70, 80, 90, 100, 100]),
        ({"start": 50, "step": 2.5}, [50, 52.5, 55, 57.5, 60, 62.5]),
        ({"stall_after": 3}, [60, 70, 80, 80, 80, 80]),
        ({"drop_at": 3}, [60, 70, 60, 90, 100, 100]),
        ({"drop_at": 2, "drop": 100}, [60, 0, 80, 90, 100, 100]),
        ({"start": 5, "step": -3}, [5, 2, 0, 0, 0, 0]),
        ({"start": 90, "step": -10}, [90, 80, 70, 60, 50, 40]),
        ({"step": 0, "swing": 10}, [70, 50, 70, 50, 70, 50]),
        ({"step": 0, "swing": 10, "period": 4}, [70, 60, 50, 60, 70, 60]),
        ({"step": 5, "swing": 5, "stall_after": 3}, [65, 60, 75, 65, 75, 65]),
    ],
)
def test_the_score_goes_as_configured(config: dict[str, Any], expected: list[float]) -> None:
    assert scores(6, **config) == expected


@given(noise=st.floats(0, 50), start=st.floats(-50, 150), step=st.floats(-20, 20))
def test_the_score_stays_within_0_and_100(noise: float, start: float, step: float) -> None:
    assert all(0 <= score <= 100 for score in scores(4, noise=noise, start=start, step=step))


def test_without_a_configured_score_there_is_none() -> None:
    assert ask(model("simulated")).data == {}


def test_usage_counts_all_that_was_said_and_costs_something() -> None:
    answer = ask(model("simulated"), "x" * 400, system="y" * 40)
    assert answer.usage.input_tokens == 110
    assert answer.usage.output_tokens == count_tokens(answer.content)
    assert answer.usage.model == "simulated"
    assert answer.usage.usd == pytest.approx((110 + 4 * answer.usage.output_tokens) / 1e6)


def test_with_a_name_it_costs_what_that_model_costs() -> None:
    usage = ask(model("simulated", name="gpt-4o"), "x" * 4000).usage
    assert usage.model == "gpt-4o"
    assert usage.usd == usd("gpt-4o", usage.input_tokens, usage.output_tokens) > 0.0025


def test_the_stream_adds_up_to_the_content() -> None:
    pieces: list[str] = []
    content = ask(model("simulated", score={}), emit=pieces.append).content
    assert len(pieces) > 3
    assert "".join(pieces) == content


@pytest.mark.parametrize(
    "config",
    [
        {"seed": 1.5},
        {"score": {"noise": -1}},
        {"score": {"stall_after": 0}},
        {"scores": {}},
        {"score": {"period": 1}},
    ],
)
def test_wrong_options_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model("simulated", **config)
