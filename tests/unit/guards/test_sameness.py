"""Which outputs are the same and which are not, in English and in Chinese."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel.engine.message import Message
from rondel.guards.sameness import folded, signature, signature_of_call

SAME = [
    ("Try again.", "TRY  again!"),
    ("Try again", '"Try again…"'),
    ('{"score": 60}', '{ "Score":60 }'),
    ("Round 1: no", "Round 2: no"),
    ("round #3 failed", "Round no. 12 failed"),
    ("Attempt 1 of 5", "attempt 2/5"),
    ("My first attempt failed.", "My third attempt failed."),
    ('{"iteration": 1, "ok": false}', '{"iteration": 2, "ok": false}'),
    ("On 2026-03-01 it was down", "On 2026-03-02T10:11:12Z it was down"),
    ("On Monday, 2 March 2026 it was down", "On Friday, March 6th, 2026 it was down"),
    ("It is 10:15.", "It is 3:07:59 pm."),
    ("timestamp: 1772355600", "timestamp: 1772359999.25"),
    ("第一轮评审:没有问题。", "第 12 轮评审: 没有问题!"),
    ("第3次尝试失败", "第四次尝试失败"),
    ("2026年3月1日检查", "3月2日检查"),
    ("星期一 2026年3月2日 检查", "2026年3月6日(星期五)检查"),
    ("上午9点仍不可用", "下午3点20分仍不可用"),
]
DIFFERENT = [
    ("if a < b", "if a <= b"),
    ("60", "68"),
    ("5", "-5"),
    (".5", "5"),
    ('{"score": 60}', '{"score": 61}'),
    ("Processed 1 file", "Processed 2 files"),
    ("Step 1", "Step 2"),
    ("a background of 3", "a background of 4"),
    ("around 3", "around 4"),
    ("main.c:3:10: error", "main.c:3:20: error"),
    ("version 1.2", "version 1.3"),
    ("How about Monday?", "How about Tuesday?"),
    ("It may rain", "It may snow"),
    ("1 failed in 12 s", "2 failed in 12 s"),
    ("提出三点建议", "提出四点建议"),
    ("需要3个月", "需要4个月"),
    ("价格上涨", "价格下跌"),
    ("+", "-"),
    ("👍", "👎"),
]


def said(text: str, round: int = 1, **data: Any) -> str:
    return signature([Message(text, data)], round)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_is_the_same(one: str, other: str) -> None:
    assert said(one) == said(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_is_not(one: str, other: str) -> None:
    assert said(one) != said(other)


def test_a_draft_with_the_number_of_its_round_is_the_same_draft() -> None:
    assert said("Draft 2: tea", 2) == said("Draft 3: tea", 3)
    assert said("第二稿:茶", 2) == said("第三稿:茶", 3)
    assert said("Draft 2: tea", 5) != said("Draft 3: tea", 6)


def test_data_counts_as_text_does() -> None:
    assert said("", score=60) != said("", score=61)
    assert said("", round=1, verdict="No.") == said("", round=2, verdict="no")
    assert said("", timestamp=1772355600.5, ok=True) == said("", timestamp=1772359999, ok=True)
    assert said("", time=12) != said("", time=13)
    assert said("", a=1, b=[2]) == said("", b=[2], a=1)


def test_calls_are_the_same_with_input_and_result() -> None:
    call = {"tool": "look", "input": {"at": "a"}, "output": "down since 10:15"}
    assert signature_of_call(call) == signature_of_call({**call, "output": "Down since 10:16."})
    assert signature_of_call(call) != signature_of_call({**call, "input": {"at": "b"}})
    assert signature_of_call(call) != signature_of_call({**call, "output": "up"})


@given(st.text(max_size=200), st.integers(1, 99))
def test_any_text_is_the_same_as_itself_in_capitals_and_spaces(text: str, round: int) -> None:
    assert said(text, round) == said(f"\n{text}  ", round)
    assert folded(folded(text, round), round) is not None


@pytest.mark.parametrize(
    "text", ["1" * 200_000, "第" * 200_000, "round " * 40_000, "- " * 100_000, "12:" * 70_000]
)
def test_it_takes_time_linear_in_the_text(text: str) -> None:
    began = perf_counter()
    said(text)
    assert perf_counter() - began < 5
