"""Patterns mean what they mean in Python's `re`, and none of them holds up the process."""

from __future__ import annotations

import contextlib
import re
import time
import warnings
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rondel.conditions.expression import Expression
from rondel.conditions.keyword import KeywordCondition, KeywordConfig
from rondel.conditions.patterns import LIMIT, Pattern
from rondel.conditions.regex_extract import RegexExtract, RegexExtractConfig
from rondel.conditions.splits import RegexSplitConfig, by_regex
from rondel.engine.message import Message
from rondel.errors import StepFailed

SLOW = [
    (r"(a+)+$", "a" * 40 + "!"),
    (r"(a|aa)+$", "a" * 60 + "!"),
    (r"(x+x+)+y", "x" * 60),
    (r"(\w+\s?)+$", "word " * 60 + "!"),
    (r"(中|中中)+$", "中" * 60 + "!"),
    (r"\s+$", " " * 400_000 + "x"),
    (r"(?=(a|aa)+$)b", "a" * 60 + "!"),
]
PIECES = [
    *"ab中 \n.|*+?()[]^${}:",
    *(r"\w", r"\d", r"\s", r"\b", r"\Z", r"\A", "{1,2}", "{e}", "[^a]", "[[:x:]]", "(?:", "(?i)"),
    *("(?P<n>", r"\1", "[a-b", "(?=", "(?!", "{,2}", r"\{", r"[\]b]", "[]a]", "*?", r"\u4e2d"),
]


@pytest.mark.parametrize(("pattern", "text"), SLOW)
def test_no_pattern_takes_much_longer_than_it_may(pattern: str, text: str) -> None:
    keyword = KeywordCondition(KeywordConfig(regex=[pattern]))
    extract = RegexExtract(RegexExtractConfig(pattern=pattern))
    split = by_regex(RegexSplitConfig(pattern=pattern))
    calls: list[Any] = [
        lambda: keyword(Message(text), 1),
        lambda: extract(Message(text)),
        lambda: split(Message(text)),
    ]
    for call in calls:
        started = time.process_time()
        with contextlib.suppress(StepFailed):
            call()
        assert time.process_time() - started < LIMIT * 10


def test_what_takes_too_long_says_so() -> None:
    with pytest.raises(StepFailed, match="took longer than 100 ms on a text of 61 characters"):
        Pattern("(a|aa)+$").found_in("a" * 60 + "!")


def test_an_expression_with_a_pattern_is_linear() -> None:
    expression = Expression(r"text.matches('(a|aa)+$')", ("text",))
    started = time.process_time()
    assert not expression({"text": "a" * 100_000 + "!"})
    assert time.process_time() - started < 5


@given(
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.text("ab中e{x:] \n1", max_size=8),
)
@example("a{e}", "a{e}")
@example("[[:x:]]", ":]")
@example("a$", "a\n")
@example(r"\w+", "中文")
@settings(deadline=None)
def test_a_pattern_finds_what_python_finds(source: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            known = re.compile(source)
        except re.error:
            return
        mine = Pattern(source)
    found = [match.span() for match in mine.matches_in(text)]
    assert found == [match.span() for match in known.finditer(text)]
    assert mine.found_in(text) == bool(known.search(text))


@pytest.mark.parametrize("text", ["STRASSE", "straße", "İ", "ſ", "ς", "σ", "K", "É", "é"])
@pytest.mark.parametrize("source", ["straße", "i", "s", "σ", "k", "é"])
def test_case_is_ignored_as_python_ignores_it(source: str, text: str) -> None:
    expected = re.search(source, text, re.IGNORECASE) is not None
    assert Pattern(source, ignore_case=True).found_in(text) == expected
