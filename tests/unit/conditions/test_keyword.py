from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel.engine.message import Message
from tests.unit.conditions.registries import built, problems

WORDS = st.lists(st.text("abAB1", min_size=1, max_size=2), max_size=3)


def holds(text: str, **config: object) -> bool:
    result = built("condition", "keyword", config)(Message(text), 1)
    assert isinstance(result, bool)
    return result


@given(text=st.text("abAB12 ", max_size=8), any=WORDS, none=WORDS, regex=WORDS, case=st.booleans())
def test_a_none_hit_refuses_then_any_or_regex_accept_then_both_must_be_empty(
    text: str, any: list[str], none: list[str], regex: list[str], case: bool
) -> None:
    if not (any or none or regex):
        return
    flags = 0 if case else re.IGNORECASE

    def hit(words: list[str]) -> bool:
        return bool([word for word in words if re.search(word, text, flags)])

    expected = not hit(none) and (hit(any) or hit(regex) or not (any or regex))
    assert holds(text, any=any, none=none, regex=regex, case_sensitive=case) is expected


@pytest.mark.parametrize(
    ("text", "config", "expected"),
    [
        ("I ACCEPT this", {"any": ["ACCEPT"]}, True),
        ("I accept this", {"any": ["ACCEPT"]}, False),
        ("I accept this", {"any": ["ACCEPT"], "case_sensitive": False}, True),
        ("more work", {"none": ["ACCEPT"]}, True),
        ("ACCEPT, no", {"any": ["ACCEPT"], "none": ["no"]}, False),
        ("v42", {"regex": [r"^v\d+$"]}, True),
        ("通过", {"any": ["通过"]}, True),
    ],
)
def test_the_rule_on_plain_cases(text: str, config: dict[str, object], expected: bool) -> None:
    assert holds(text, **config) is expected


def test_only_the_text_is_searched_never_the_data() -> None:
    condition = built("condition", "keyword", {"any": ["ok"]})
    assert not condition(Message(data={"verdict": "ok"}), 1)


def test_a_condition_that_says_nothing_is_refused() -> None:
    assert problems("condition", "keyword", {"any": []}) == [
        ": a keyword condition needs at least one of any, none and regex"
    ]


def test_a_bad_pattern_is_refused_with_its_place() -> None:
    assert problems("condition", "keyword", {"regex": ["ok", "("]}) == [
        "regex.1: '(' is not a regular expression: missing ), unterminated subpattern at position 0"
    ]


@pytest.mark.parametrize("config", [{"any": [""]}, {"any": "ACCEPT"}, {"all": ["x"]}])
def test_wrong_values_are_refused(config: dict[str, object]) -> None:
    assert problems("condition", "keyword", config)
