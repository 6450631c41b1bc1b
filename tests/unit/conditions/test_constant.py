from __future__ import annotations

import pytest

from rondel.engine.message import Message
from tests.unit.conditions.registries import built, problems


@pytest.mark.parametrize(("name", "expected"), [("true", True), ("false", False)])
def test_a_constant_says_the_same_of_every_message(name: str, expected: bool) -> None:
    condition = built("condition", name, {})
    assert condition(Message("yes"), 1) is expected
    assert condition(Message(), 7) is expected


def test_a_constant_has_no_options() -> None:
    assert problems("condition", "true", {"always": 1})
