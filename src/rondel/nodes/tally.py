"""Counts ballots: the outcome so far, and whether the ones that are left can change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

Ballot = dict[str, Any]
"""A vote as it is journalled and told: agent, decision, score, reasoning; perhaps malformed."""

SLACK = 1e-9
"""The tolerance of the threshold: 2 of 3 reach 0.6666666667."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The ballots cast so far, of `voters` in all, and what the vote asks for."""

    ballots: Sequence[Ballot]
    voters: int
    threshold: float
    quorum: float = 0.0
    confidence: float | None = None

    def count(self, decision: str) -> int:
        """The number of ballots with this decision."""
        return sum(ballot["decision"] == decision for ballot in self.ballots)

    @property
    def left(self) -> int:
        """The number of voters not yet asked."""
        return self.voters - len(self.ballots)

    @property
    def ratio(self) -> float | None:
        """The share of yes among those who did not abstain; None if everybody did."""
        yes, no = self.count("yes"), self.count("no")
        return yes / (yes + no) if yes + no else None

    @property
    def has_quorum(self) -> bool:
        """Whether enough voters did not abstain."""
        return self._is_quorate(self.count("yes") + self.count("no") + self.left)

    @property
    def foreseen(self) -> bool | None:
        """Whether the vote passes, once that is certain or probable enough; None before."""
        yes, no, left = self.count("yes"), self.count("no"), self.left
        ends = {
            self._passes(yes + more, no + against)
            for more in range(left + 1)
            for against in range(left + 1 - more)
        }
        if len(ends) == 1:
            return ends.pop()
        if self.confidence is None or yes + no == 0:
            return None
        probably = chance_to_pass(yes, no, left, self._passes)
        if max(probably, 1 - probably) < self.confidence:
            return None
        return probably > 0.5

    def _passes(self, yes: int, no: int) -> bool:
        """Whether `yes` against `no` passes; no votes do not."""
        if not yes + no or not self._is_quorate(yes + no):
            return False
        return yes / (yes + no) + SLACK >= self.threshold

    def _is_quorate(self, cast: int) -> bool:
        return cast + SLACK >= self.quorum * self.voters


def chance_to_pass(yes: int, no: int, left: int, enough: Callable[[int, int], bool]) -> float:
    """The probability that `enough(yes, no)` will hold when those who are left have voted too.

    How they vote is guessed from those who have, by a Beta posterior with a uniform prior: a
    Beta-binomial of `yes + 1` and `no + 1`.
    """
    ways = comb(yes + no + left + 1, left)
    return sum(
        comb(yes + more, more) * comb(no + left - more, left - more) / ways
        for more in range(left + 1)
        if enough(yes + more, no + left - more)
    )
