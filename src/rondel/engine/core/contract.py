"""What a loop's contract says: when it ends and why, and what it asks at its limit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from rondel.engine.core.progress import Progress
from rondel.engine.protocols import Question
from rondel.graph.spec import (
    BUDGET_EXHAUSTED,
    CONDITION_MET,
    REGRESSED,
    STAGNATED,
    TARGET_REACHED,
    BudgetSpec,
    LoopSpec,
)

if TYPE_CHECKING:
    from rondel.engine.core.frame import Frame


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


def by_goal(contract: LoopSpec, value: float | None, until_met: bool) -> Ruling | None:
    """The end that a goal makes."""
    if contract.target is not None and value is not None and value >= contract.target:
        return Ruling(TARGET_REACHED, value, contract.target)
    return Ruling(CONDITION_MET) if until_met else None


def by_budget(budget: BudgetSpec, progress: Progress, active: float, *, cut: bool) -> Ruling | None:
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


# How it ended


class LoopEnd(msgspec.Struct, frozen=True, gc=False):
    """How one entry of a loop ended."""

    loop: str
    address: str
    rounds: int
    reason: str
    value: float | None = None
    threshold: float | None = None
    best_round: int | None = None
    bounded: bool = False
    entries: int = 1
    score: float | None = None
    """That of the last round."""
    target: float | None = None
    """The score that was the goal."""
    note: str = ""
    """What else explains the end, in words."""


# At its limit

CONTINUE, BEST, STOP = "continue", "best", "stop"
ACTIONS = [CONTINUE, BEST, STOP]

_ANSWER = re.compile(r"\s*(continue|best|stop)\b[\s:]*(\d{1,6})?\s*", re.IGNORECASE | re.ASCII)


class Choice(NamedTuple):
    """What somebody wants a loop at its limit to do."""

    action: str
    rounds: int | None = None


def limit_question(frame: Frame, ruling: Ruling, refused: str = "") -> Question:
    """How should the loop go on?"""
    progress = frame.progress
    text = (
        f"Loop {frame.scope.name!r} is in round {frame.round} without having reached its goal: "
        f"{ruling.reason}{ruling.figures}."
    )
    if progress.best_round is not None:
        text += f" Its best round is {progress.best_round} ({progress.best_value:g})."
    text += (
        " Answer 'continue' or 'continue N' for more rounds, 'best' to go on with the best round, "
        "or 'stop' to stop the run."
    )
    if refused:
        text += f" {refused!r} is none of these."
    return Question(text, ACTIONS)


def chosen(answer: Any) -> Choice | None:
    """The choice that an answer makes, or None."""
    found = _ANSWER.fullmatch(answer) if isinstance(answer, str) else None
    if found is None:
        return None
    action, rounds = found[1].lower(), int(found[2]) if found[2] else None
    if rounds is not None and (action != CONTINUE or rounds == 0):
        return None
    return Choice(action, rounds)
