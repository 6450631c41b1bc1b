from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Nothing
from tests.unit.nodes.context import FakeContext
from tests.unit.nodes.running import built, problems, step


def counted(executions: int, **config: Any) -> list[Message | None]:
    """What each of so many executions says, the state handed on from one to the next."""
    counter = built("loop_counter", **config)
    state: Any = None
    said: list[Message | None] = []
    for _ in range(executions):
        outcome = step(counter, FakeContext(state=state))
        assert isinstance(outcome, Emit | Nothing)
        state = outcome.state
        said.append(outcome.messages[0] if isinstance(outcome, Emit) else None)
    return said


@given(limit=st.integers(1, 5), executions=st.integers(0, 16), reset=st.booleans())
def test_it_speaks_at_the_limit_and_then_again_after_as_many_or_each_time(
    limit: int, executions: int, reset: bool
) -> None:
    said = counted(executions, max_iterations=limit, reset_on_emit=reset)
    for number, message in enumerate(said, start=1):
        assert (message is not None) is (number % limit == 0 if reset else number >= limit)
        if message:
            count = limit if reset else number
            figures = {"count": count, "max": limit, "reset_on_emit": reset}
            assert message == Message(f"Loop limit reached ({limit})", {"loop_counter": figures})


def test_it_says_what_it_is_told_to() -> None:
    (message,) = counted(1, max_iterations=1, message="已达到最大修改次数")
    assert message
    assert (message.text, message.role) == ("已达到最大修改次数", "assistant")


def test_ten_is_the_default() -> None:
    assert [bool(message) for message in counted(11)] == [*[False] * 9, True, False]


@pytest.mark.parametrize("limit", [0, -3, 2.5, 3.0, "3", True, None])
def test_the_limit_is_an_integer_of_at_least_one(limit: Any) -> None:
    (problem,) = problems("loop_counter", {"max_iterations": limit})
    assert problem.startswith("max_iterations: ")
