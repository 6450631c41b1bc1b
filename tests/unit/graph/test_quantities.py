"""Durations are seconds, or a number with its unit."""

from __future__ import annotations

import pytest

from rondel.graph.quantities import seconds


@pytest.mark.parametrize(
    ("value", "length"),
    [(90, 90), (0.5, 0.5), ("500ms", 0.5), ("90s", 90), ("10m", 600), ("2h", 7200), ("1.5s", 1.5)],
)
def test_a_duration_is_seconds(value: object, length: float) -> None:
    assert seconds(value) == pytest.approx(length)


@pytest.mark.parametrize(
    "value", [-1, "10 minutes", "1d", "", True, None, [], float("nan"), float("inf"), "-5s", "٣s"]
)
def test_anything_else_is_none(value: object) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        seconds(value)
