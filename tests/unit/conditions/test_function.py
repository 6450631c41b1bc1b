from __future__ import annotations

import pytest

from rondel.engine.message import Message
from rondel.errors import StepFailed
from tests.unit.conditions.registries import built, problems


def is_long(message: Message) -> int:
    return len(message.text) // 5


async def later(message: Message) -> bool:
    return True


def test_a_function_decides_by_what_it_returns() -> None:
    condition = built("condition", "function", {"name": "is_long"}, is_long=is_long)
    assert condition(Message("long enough"), 1) is True
    assert condition(Message("no"), 1) is False


def test_an_async_function_is_refused_and_not_taken_for_true() -> None:
    condition = built("condition", "function", {"name": "later"}, later=later)
    with pytest.raises(StepFailed, match="'later' is async, but a condition must answer at once"):
        condition(Message(), 1)


def test_what_the_function_raises_comes_through() -> None:
    condition = built("condition", "function", {"name": "fails"}, fails=lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        condition(Message(), 1)


@pytest.mark.parametrize("kind", ["condition", "process"])
def test_an_unknown_name_is_a_config_error_with_the_nearest(kind: str) -> None:
    assert problems(kind, "function", {"name": "is_lnog"}, is_long=is_long) == [
        "name: there is no function named 'is_lnog'; did you mean 'is_long'?"
    ]
    assert problems(kind, "function", {"name": "is_long"}) == [
        "name: there is no function named 'is_long', and no --functions DIR was given; "
        "registered: none"
    ]
