"""The probability that a lead lasts, by a Beta posterior with a uniform prior."""

from __future__ import annotations

from collections.abc import Callable
from math import comb


def stays_ahead(ahead: int, behind: int) -> float:
    """The probability that more than half are for the leader, after so many for and against it.

    A Beta(ahead + 1, behind + 1) above one half: the same as tosses of a coin.
    """
    tosses = ahead + behind + 1
    return sum(comb(tosses, heads) for heads in range(ahead + 1)) / (1 << tosses)


def passes(yes: int, no: int, left: int, enough: Callable[[int, int], bool]) -> float:
    """The probability that `enough(yes, no)` will hold when those who are left have voted too.

    How they vote is guessed from those who have: a Beta-binomial of `yes + 1` and `no + 1`.
    """
    ways = comb(yes + no + left + 1, left)
    return sum(
        comb(yes + more, more) * comb(no + left - more, left - more) / ways
        for more in range(left + 1)
        if enough(yes + more, no + left - more)
    )
