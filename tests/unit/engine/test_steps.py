"""The steps under way are found by number, in the order in which they began."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel.engine.core.step import Step
from rondel.engine.core.steps import Steps
from rondel.engine.core.transcript import Transcript
from tests.unit.graph.test_compile import compiled

PLAN: Any = compiled([("a", "b")])


def step(number: int) -> Step:
    from rondel.engine.core.frame import Frame

    frame = Frame(1, PLAN.root, None, None)
    return Step(number, PLAN.nodes[0], frame, 0, 0, 1, 1, Transcript(0))


@given(st.lists(st.integers(0, 4), max_size=30))
def test_it_is_a_dict_of_steps(moves: list[int]) -> None:
    """A move of 0 begins a step, any other ends the one at that place, if there is one."""
    steps, expected = Steps(), dict[int, Step]()
    for number, move in enumerate(moves):
        if move == 0:
            expected[number] = step(number)
            steps.add(expected[number])
        elif move <= len(expected):
            over = list(expected)[move - 1]
            del expected[over]
            steps.remove(over)
        assert steps.all() == list(expected.values())
        for known in range(len(moves)):
            assert (known in steps) == (known in expected)
            if known in expected:
                assert steps[known] is expected[known]
            else:
                with pytest.raises(KeyError):
                    steps[known]
                with pytest.raises(KeyError):
                    steps.remove(known)
    steps.clear()
    assert steps.all() == []
