"""Novelty entropy: 0 for a repeat, 1 for something new, a share in between."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel.guards.repetition import MOST, Novelty
from rondel.guards.sameness import folded

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "novelty.md"
BLOCKS = re.findall(r"```novelty\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
TEXTS = st.lists(st.sampled_from(["tea", "hot", "茶", "好", "7", "<", "\n"]), max_size=12).map(
    " ".join
)


def entropies(*texts: str) -> list[float]:
    novelty = Novelty()
    return [novelty.measure(folded(text, round)) for round, text in enumerate(texts, 1)]


@pytest.mark.parametrize("block", BLOCKS)
def test_the_examples_of_the_reference_are_as_it_says(block: str) -> None:
    lines = [line.split("  ", 1) for line in block.strip().splitlines()]
    assert [f"{each:.2f}" for each in entropies(*(text for _, text in lines))] == [
        figure for figure, _ in lines
    ]


def test_the_reference_has_examples() -> None:
    assert len(BLOCKS) >= 4


@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
def test_it_is_a_share_and_a_repeat_of_anything_earlier_is_0(texts: list[str]) -> None:
    found = entropies(*texts, texts[0])
    assert all(0 <= each <= 1 for each in found)
    assert found[0] == 1
    assert found[-1] == 0


@given(texts=st.lists(TEXTS, min_size=1, max_size=6), last=TEXTS)
def test_what_was_dumped_measures_the_same(texts: list[str], last: str) -> None:
    novelty = Novelty()
    for text in texts:
        novelty.measure(text)
    twin = Novelty.of(json.loads(json.dumps(novelty.dump())))
    assert twin.measure(last) == novelty.measure(last)


def test_one_word_of_a_hundred_is_a_hundredth() -> None:
    words = [f"w{n}" for n in range(100)]
    assert entropies(" ".join(words), " ".join([*words[:50], "new", *words[51:]]))[1] == 0.01


def test_one_character_of_a_hundred_is_too() -> None:
    signs = [chr(0x4E00 + n) for n in range(100)]
    assert entropies("".join(signs), "".join([*signs[:50], "鑫", *signs[51:]]))[1] == 0.01


def test_what_is_remembered_is_bounded_and_measured_in_linear_time() -> None:
    novelty, began = Novelty(), perf_counter()
    for start in range(0, 200_000, 50_000):
        novelty.measure(" ".join(str(n) for n in range(start, start + 50_000)))
    assert len(novelty.dump()) <= MOST * 6
    assert perf_counter() - began < 10
