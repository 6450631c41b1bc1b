"""What a loop's contract says at the end of a round."""

from __future__ import annotations

from typing import NamedTuple

from rondel.engine.core.progress import Progress
from rondel.graph.reasons import (
    BUDGET_EXHAUSTED,
    CONDITION_MET,
    REGRESSED,
    STAGNATED,
    TARGET_REACHED,
)
from rondel.graph.spec import Budget, LoopSpec


class Ruling(NamedTuple):
    """Why a loop ends, with the figure that decided it."""

    reason: str
    value: float | None = None
    threshold: float | None = None

    @property
    def figures(self) -> str:
        """The figures in words, or nothing."""
        if self.value is None or self.threshold is None:
            return ""
        return f" ({self.value:g} of {self.threshold:g})"


def by_goal(contract: LoopSpec, value: float | None, held: bool) -> Ruling | None:
    """The end that a goal makes."""
    if contract.target is not None and value is not None and value >= contract.target:
        return Ruling(TARGET_REACHED, value, contract.target)
    return Ruling(CONDITION_MET) if held else None


def by_budget(budget: Budget, progress: Progress, active: float, *, cut: bool) -> Ruling | None:
    """The end that an empty purse makes; `cut` if a call was refused already."""
    ran = active - progress.active_at_start
    spent = ((budget.tokens, progress.tokens), (budget.usd, progress.usd), (budget.wall_time, ran))
    last: Ruling | None = None
    for bound, used in spent:
        if bound is None:
            continue
        last = Ruling(BUDGET_EXHAUSTED, float(used), float(bound * progress.grants))
        if used >= bound * progress.grants:
            return last
    return (last or Ruling(BUDGET_EXHAUSTED)) if cut else None


def by_regression(contract: LoopSpec, drop: float) -> Ruling | None:
    """The end that a round much worse than the best makes."""
    regression = contract.regression
    if regression is not None and regression.action == "exit":
        return Ruling(REGRESSED, drop, regression.drop)
    return None


def by_stagnation(contract: LoopSpec, gain: float) -> Ruling | None:
    """The end that rounds without a gain make."""
    patience = contract.patience
    if patience is not None and patience.then == "exit":
        return Ruling(STAGNATED, gain, patience.min_delta)
    return None
