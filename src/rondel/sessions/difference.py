"""Where a session's past would have gone otherwise if its graph had said something else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rondel.engine import ticks
from rondel.engine.core.fold import apply
from rondel.engine.core.state import SessionState
from rondel.engine.message import Message
from rondel.graph.plan import Plan
from rondel.graph.spec import Budget


def first_difference(before: Plan, after: Plan, journal: Iterable[ticks.AnyTick]) -> int | None:
    """How much of a past two plans share: the ticks up to where they part; None if they do not.

    The tick in which they part is shared too, as long as it says what a step did, and not what a
    contract decided.
    """
    one, other = SessionState(before), SessionState(after)
    for position, tick in enumerate(journal):
        if _is_decided_anew(one, other, tick):
            return position
        begun = one.step_count
        apply(one, tick)
        try:
            apply(other, tick)
        except (LookupError, AssertionError, AttributeError):
            return position
        if _standing(one, begun) != _standing(other, begun):
            return position + 1
    return None


def _standing(state: SessionState, begun: int) -> tuple[Any, ...]:
    """Where a session stands: what is under way, and what its newest steps were given."""
    frames = [
        (frame.entry, frame.round, frame.checking_until, frame.halted, frame.ways is None)
        for frame in state.frames.values()
    ]
    steps = state.steps.values()
    given: list[list[Message]] = [list(step.inputs) for step in steps if step.number > begun]
    under_way = [(step.number, step.node.index) for step in steps]
    return state.status, state.step_count, frames, under_way, list(state.questions), given


def _is_decided_anew(one: SessionState, other: SessionState, tick: ticks.AnyTick) -> bool:
    """Whether a tick says what a contract decided, and the other contract is a different one."""
    match tick:
        case ticks.UntilChecked():
            return bool(_until(one, tick.entry) != _until(other, tick.entry))
        case ticks.Refused():
            return _budget(one, tick.entry) != _budget(other, tick.entry)
        case ticks.Aborted():
            untils = [[_until(state, entry) for entry in state.frames] for state in (one, other)]
            return untils[0] != untils[1]
        case _:
            return False


def _until(state: SessionState, entry: int) -> Any:
    return state.frames[entry].scope.contract.until


def _budget(state: SessionState, entry: int) -> Budget:
    scope = state.frames[entry].scope
    return state.plan.spec.limits.budget if scope.head is None else scope.contract.budget
