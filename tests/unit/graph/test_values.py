"""A score in plain words."""

from __future__ import annotations

import pytest

from rondel.graph.values import spoken_value

SCORE = ("score",)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Score: 85/100", 85),
        ("score = 8.5 / 10", 8.5),
        ("**Score:** 97", 97),
        ("- **Overall score**: 70 (target score: 90)", 70),
        ("## Final score: 90", 90),
        ("Well written. Score: 85.5.", 85.5),
        ("The score is 77", 77),
        ("| Score | 85 |", 85),
        ("Clarity score: 80\nScore: 60\nas before", 60),
        ("Score: 60\nScore: 65", 65),
        ("评分：85/100", 85),
        ("得分: 92分", 92),
        ("总分：**88**", 88),
        ("写得不错，综合评分：85分。", 85),
    ],
)
def test_it_is_the_number_after_the_word(text: str, value: float) -> None:
    assert spoken_value(text, SCORE) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Score: high",
        "Score: 85-90",
        "Score: 2.5.3",
        "The target score: 90",
        "目标评分：90",
        "Clarity score: 80",
        "I want a score of 90",
        "underscore: 3",
        "Score: " + "9" * 400,
    ],
)
def test_what_may_mean_something_else_is_none(text: str) -> None:
    assert spoken_value(text, SCORE) is None


def test_another_key_has_another_word() -> None:
    assert spoken_value("Overall quality: 7/10\nScore: 3", ("review", "overall_quality")) == 7
    assert spoken_value("评分：3", ("quality",)) is None


@pytest.mark.parametrize("part", ["\n", ", ", "Score: ", "* ", "- Score |", "。总"])
def test_long_texts_take_no_longer_than_reading_them(part: str) -> None:
    assert spoken_value(part * 100_000 + "\nScore: 5", SCORE) == 5
