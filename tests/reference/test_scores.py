"""What counts as a score, and which of a round's scores is its value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference.messages import Message
from tests.reference.scores import Output, in_logical_order, round_data, round_value, score_of

SCORE = ("score",)
QUALITY = ("review", "quality")


def score(text: str = "", path: tuple[str, ...] = SCORE, **data: Any) -> float | None:
    return score_of(Message(text, "critic", data=data), path)


@pytest.mark.parametrize("value", [90, 90.0, "90", "90.0", " 90 "])
def test_numbers_and_numeric_text_count(value: Any) -> None:
    assert score(score=value) == 90


@pytest.mark.parametrize("value", [True, None, [90], {"value": 90}, "n/a", "", "nan", "inf"])
def test_what_is_no_finite_number_is_missing(value: Any) -> None:
    assert score(score=value) is None


def test_a_path_leads_through_mappings_only() -> None:
    assert score(path=QUALITY, review={"quality": 7}) == 7
    assert score(path=QUALITY, review=7) is None
    assert score(path=QUALITY, quality=7) is None


def test_data_comes_before_the_structured_score_and_that_before_the_text() -> None:
    structured = {"weighted_score": 60, "weighted_total": 50}
    assert score('{"score": 40}', score=70, structured_score=structured) == 70
    assert score('{"score": 40}', structured_score=structured) == 60
    assert score('{"score": 40}', structured_score={"weighted_total": "50"}) == 50
    assert score('{"score": 40}', structured_score=7) == 40


def test_a_value_that_is_no_score_lets_the_next_place_speak() -> None:
    structured = {"weighted_score": "none", "weighted_total": 50}
    assert score('{"score": 40}', score=True, structured_score=structured) == 50


def test_json_in_the_text_counts_fenced_or_bare_at_the_same_path() -> None:
    assert score('My verdict:\n```json\n{"score": 40}\n```\nDone.') == 40
    assert score('{"review": {"quality": "7"}}', path=QUALITY) == 7
    assert score('{"review": {"score": 7}}') is None


def test_the_last_object_in_the_text_that_has_a_score_counts() -> None:
    assert score('{broken} {"score": 1} then {"score": 2} and {"note": 3}, {"score": true}') == 2


def emits(node_id: str, *messages: Message, at: tuple[int, int] = (0, 0)) -> Output:
    return Output(node_id, list(messages), at)


def told(**data: Any) -> Message:
    return Message("text", "n", data=data)


def test_the_last_output_with_a_score_in_its_last_message_gives_the_value() -> None:
    outputs = [emits("a", told(score=1)), emits("b", told(score=2), told()), emits("c", told())]
    assert round_value(outputs, SCORE) == 1


def test_of_a_named_node_only_its_own_scores_count() -> None:
    outputs = [emits("a", told(score=1)), emits("b", told(score=2))]
    assert round_value(outputs, SCORE, "a") == 1
    assert round_value(outputs, SCORE, "c") is None


def test_outputs_come_by_level_and_then_by_place_and_an_inner_loop_is_one_item() -> None:
    outputs = [
        emits("late", at=(2, 0)),
        emits("inner 2", at=(1, 3)),
        emits("inner 1", at=(1, 3)),
        emits("first", at=(1, 1)),
    ]
    names = [output.node_id for output in in_logical_order(outputs)]
    assert names == ["first", "inner 2", "inner 1", "late"]


def test_the_data_of_a_round_is_that_of_all_its_messages_later_wins() -> None:
    outputs = [emits("a", told(x=1, y=1), told(y=2)), emits("b", told(z=3))]
    assert round_data(outputs) == {"x": 1, "y": 2, "z": 3}
