"""What the engine does between two nodes, counted in function calls, so that it cannot creep up.

It is counted in plain Python, for no profiler sees what compiled code calls. The bounds are a
tenth above what is needed now. Lower them when the engine gets lighter; raise one only with a
reason: a call of one compiled function by another costs a nanosecond, and reading a field of a
struct there costs twenty, so that some calls are worth what they save.
"""

from __future__ import annotations

import json

import pytest

from tests.plain import run_plain

BOUNDS = {"a loop": 53, "with a history": 57, "fan-out and join": 64, "every event told": 121}


@pytest.fixture(scope="module")
def calls() -> dict[str, float]:
    counted: dict[str, float] = json.loads(run_plain("-m", "tests.unit.engine.step_calls"))
    return counted


@pytest.mark.parametrize("case", BOUNDS)
def test_a_step_takes_few_calls(case: str, calls: dict[str, float]) -> None:
    assert calls[case] <= BOUNDS[case]
