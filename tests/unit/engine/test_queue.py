"""What is to be done is done in the order in which it became known."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rondel.engine.core.effects import Judge
from rondel.engine.core.queue import Queue


def command(number: int) -> Any:
    return Judge(None, {}, str(number))  # type: ignore[arg-type]


@given(st.integers(0, 5), st.lists(st.integers(-200, 200), max_size=20))
def test_it_is_a_queue(at_first: int, moves: list[int]) -> None:
    """Each move puts so many, or takes as many as there are up to that."""
    expected = deque(command(number) for number in range(at_first))
    queue = Queue()
    queue.put_all(expected)
    for move in moves:
        for _ in range(max(move, 0)):
            expected.append(command(len(expected)))
            queue.put(expected[-1])
        for _ in range(min(-move, len(expected))):
            assert queue.take() is expected.popleft()
        assert queue.length == len(expected)
    assert queue.take_all() == list(expected)
    assert queue.length == 0
