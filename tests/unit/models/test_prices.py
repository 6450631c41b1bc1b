from __future__ import annotations

import pytest

from rondel.models.prices import usd
from rondel.models.tokens import count_tokens


def test_a_listed_model_has_its_price() -> None:
    assert usd("gpt-4o", 1_000_000, 0) == pytest.approx(2.5)
    assert usd("gpt-4o", 0, 1_000_000) == pytest.approx(10)


def test_a_simulated_model_has_a_flat_price() -> None:
    assert usd("simulated", 1_000_000, 1_000_000) == 5


@pytest.mark.parametrize("model", ["", "nobody-lists-this"])
def test_an_unlisted_model_costs_nothing(model: str) -> None:
    assert usd(model, 1000, 1000) == 0


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("word", 1), ("words", 2), ("循环", 2), ("循环 loop", 4)]
)
def test_tokens_are_about_four_characters_or_one_cjk_character(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens
