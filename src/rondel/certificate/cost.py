"""The most that something costs: steps, model calls, tokens, money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

Amount = TypeVar("Amount", int, float)


@dataclass(frozen=True, slots=True)
class Cost:
    """The most of each figure; None means no bound."""

    steps: int = 0
    calls: int | None = 0
    tokens: int | None = 0
    usd: float | None = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.steps + other.steps,
            _sum(self.calls, other.calls),
            _sum(self.tokens, other.tokens),
            _sum(self.usd, other.usd),
        )

    def times(self, count: int) -> Cost:
        """The cost of `count` of these."""
        if count == 0:
            return NOTHING
        return Cost(
            self.steps * count,
            None if self.calls is None else self.calls * count,
            None if self.tokens is None else self.tokens * count,
            None if self.usd is None else self.usd * count,
        )

    def or_more(self, other: Cost) -> Cost:
        """The larger of the two, figure by figure."""
        return Cost(
            max(self.steps, other.steps),
            _larger(self.calls, other.calls),
            _larger(self.tokens, other.tokens),
            _larger(self.usd, other.usd),
        )

    def at_most(self, other: Cost) -> Cost:
        """The smaller of the two, figure by figure."""
        return Cost(
            min(self.steps, other.steps),
            smaller(self.calls, other.calls),
            smaller(self.tokens, other.tokens),
            smaller(self.usd, other.usd),
        )


NOTHING = Cost()


def smaller(one: Amount | None, other: Amount | None) -> Amount | None:
    """The smaller of two bounds; None means no bound."""
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)


def _sum(one: Amount | None, other: Amount | None) -> Amount | None:
    return None if one is None or other is None else one + other


def _larger(one: Amount | None, other: Amount | None) -> Amount | None:
    return None if one is None or other is None else max(one, other)
