"""The distribution of many values in a few figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec


class Distribution(msgspec.Struct, frozen=True):
    """The lowest, mean, median, 90th percentile and highest of many values."""

    min: float
    mean: float
    p50: float
    p90: float
    max: float


def distribution_of(values: Sequence[float]) -> Distribution:
    """The figures of at least one value."""
    ordered = sorted(values)
    return Distribution(
        ordered[0],
        sum(ordered) / len(ordered),
        _quantile(ordered, 0.5),
        _quantile(ordered, 0.9),
        ordered[-1],
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def histogram(values: Sequence[int]) -> dict[int, int]:
    """How often each value occurs, in order."""
    return dict(sorted(Counter(values).items()))
