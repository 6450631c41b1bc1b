"""The pure fold: a tick and the state so far give the next state and what to do.

No clock, no I/O, no asyncio, no node types. The shell journals a tick, applies it here, and
carries out the commands; replay, recovery and every watcher apply the same ticks to a state of
their own and get the same.

A tick is followed from the top of this file down: `apply` hands it to whoever knows what it does
(`steps.py`, `loops.py`, `limits.py`), which returns the facts that follow; `_take_up` hands
these on, one by one, until nothing follows any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from rondel.engine import ticks
from rondel.engine.core.effects import CheckUntil, Command, Effect, ProcessWayOut, Route, StepTicked
from rondel.engine.core.ends import (
    break_off,
    change_status,
    end_session,
    end_with_output,
    take_up_again,
)
from rondel.engine.core.expansion import expand_step
from rondel.engine.core.limits import answer_loop, refuse
from rondel.engine.core.loops import (
    begin_halted,
    decide,
    end_round,
    enter_loop,
    leave_loop,
    leave_processed,
    next_round,
)
from rondel.engine.core.scheduling import (
    enter_graph,
    leave_graph,
    look_at_levels,
    settle,
    skip,
)
from rondel.engine.core.state import NO_LEVELS, NOTHING_SPENT, SessionState
from rondel.engine.core.steps import (
    answer_step,
    enter_spending,
    fail_step,
    finish_step,
    keep_part,
    start_step,
    suspend,
)
from rondel.engine.core.work import (
    DONE,
    GraphReached,
    ItemReady,
    ItemSettled,
    LevelsOver,
    LoopLeft,
    RoundDue,
    RoundOver,
    Work,
)
from rondel.engine.message import task_message
from rondel.engine.ticks import AnyTick, Finished
from rondel.graph.plan import InnerLoop
from rondel.graph.spec import BREAKER_TRIPPED, CANCELLED

FINISHED: Final = Finished
"""Known to compiled code without a look for its name."""

TAKEN_UP: Final = (ticks.Resumed, ticks.Forked)
"""Ticks before which nobody ran the session."""


def apply(state: SessionState, tick: AnyTick) -> list[Command]:
    """Fold one tick in; the commands are what must be done because of it."""
    state.commands = []
    now = tick.at
    if isinstance(tick, FINISHED):  # mostly
        if not state.running:
            state.idle += now - state.last_at
        state.last_at = now
        if tick.usage:
            enter_spending(state, tick.step, tick.usage)
        _follow(state, finish_step(state, tick))
    else:
        if isinstance(tick, TAKEN_UP) or not (state.running or state.status == "pending"):
            state.idle += now - state.last_at
        state.last_at = now
        if isinstance(tick, ticks.Spending) and tick.usage:
            enter_spending(state, tick.step, tick.usage)
        _follow(state, _take_in(state, tick))
    _update_status(state)
    return state.commands


def replay(state: SessionState, past: Iterable[AnyTick]) -> Iterator[tuple[AnyTick, list[Effect]]]:
    """Apply ticks one after the other; each comes with the effects it had, until the next."""
    effects: list[Effect] = []
    state.effects = effects
    for tick in past:
        effects.clear()
        apply(state, tick)
        yield tick, effects


# What a tick does


def _take_in(state: SessionState, tick: ticks.RareTick) -> list[Work]:
    match tick:
        case ticks.Started():
            return _begin_session(state, tick)
        case ticks.Failed():
            return fail_step(state, tick)
        case ticks.Answered():
            return _answer(state, tick)
        case ticks.Refused():
            return refuse(state, tick)
        case ticks.Expanded():
            return expand_step(state, tick)
        case ticks.UntilChecked():
            return decide(state, state.frames[tick.entry], until_met=tick.met)
        case ticks.WayOut():
            return leave_processed(state, state.frames[tick.entry], tick.altered)
        case ticks.Suspended() | ticks.Substepped() | ticks.Spent() | ticks.Attempted():
            _note_of_step(state, tick)
        case ticks.Paused() | ticks.Resumed() | ticks.Retried():
            return _pause_or_go_on(state, tick)
        case _:
            _control(state, tick)
    return DONE


def _begin_session(state: SessionState, tick: ticks.Started) -> list[Work]:
    state.inputs = tick.inputs
    if tick.debug:
        state.debug = frozenset(tick.debug)
    state.started_at = tick.at
    change_status(state, "running", "")
    state.root, work = enter_graph(state, state.plan.root, None, [task_message(tick.inputs)])
    return work


def _answer(state: SessionState, tick: ticks.Answered) -> list[Work]:
    if tick.step < 0:
        return answer_loop(state, tick)
    answer_step(state, tick)
    return DONE


def _note_of_step(
    state: SessionState,
    tick: ticks.Suspended | ticks.Substepped | ticks.Spent | ticks.Attempted,
) -> None:
    """Something happened to a step that is not over."""
    match tick:
        case ticks.Suspended():
            suspend(state, tick)
        case ticks.Substepped():
            keep_part(state, tick)
        case ticks.Spent() | ticks.Attempted():
            step = state.steps[tick.step]
            if isinstance(tick, ticks.Attempted):
                step.attempts, step.due = (*step.attempts, tick.error), tick.until
            state.mark(StepTicked(step, tick, step.address))


def _pause_or_go_on(state: SessionState, tick: ticks.Pausing) -> list[Work]:
    if isinstance(tick, ticks.Paused):
        state.paused = True
        return DONE
    state.paused, state.pause_reason = False, ""
    if isinstance(tick, ticks.Retried):
        if take_up_again(state):
            state.commands.extend(todo(state))
    elif tick.free:
        state.free = True
    return begin_halted(state)


def _control(state: SessionState, tick: ticks.Control) -> None:
    match tick:
        case ticks.Signalled():
            state.signals[tick.name] = tick.data
        case ticks.Locked():
            state.lock = tick
        case ticks.Unlocked():
            _unlock(state)
        case ticks.Stopped():
            reason = CANCELLED if state.lock is None else BREAKER_TRIPPED
            text = f"stopped by {tick.by or 'the user'}"
            end_session(state, "cancelled", "stopped", text, reason)
        case ticks.Forked():
            state.own, state.own_calls = NOTHING_SPENT, 0
            _unlock(state)
        case ticks.Noted():
            pass
        case ticks.Aborted():
            break_off(state, None, tick.reason, tick.message)
        case _:
            assert_never(tick)


def _unlock(state: SessionState) -> None:
    state.lock = None
    if state.root is not None and state.root.open == 0 and not state.ended:
        end_with_output(state, state.root)


# What follows


def _follow(state: SessionState, work: list[Work]) -> None:
    """Take up what follows, one fact after the other, each with all that follows from it."""
    later = DONE
    while not state.ended:
        if len(work) > 1:
            if later is DONE:
                later = []
            later.extend(work[:0:-1])
        if work:
            fact = work[0]
        elif later:
            fact = later.pop()
        elif state.ended_levels:
            fact = LevelsOver(0)
        else:
            return
        work = _take_up(state, fact)
    state.ended_levels = NO_LEVELS


def _take_up(state: SessionState, fact: Work) -> list[Work]:
    if isinstance(fact, ItemSettled):
        return settle(state, fact.frame, fact.item)
    if isinstance(fact, ItemReady):
        what = fact.frame.scope.items[fact.item]
        if isinstance(what, InnerLoop):
            return enter_loop(state, fact.frame, fact.item, what)
        return start_step(state, fact.frame, fact.item, what)
    if isinstance(fact, RoundOver):
        in_loop = fact.frame.scope.head is not None
        return end_round(state, fact.frame) if in_loop else leave_graph(state, fact.frame)
    if isinstance(fact, RoundDue):
        return next_round(state, fact.frame)
    if isinstance(fact, LoopLeft):
        return leave_loop(state, fact.frame, fact.ruling)
    if isinstance(fact, GraphReached):
        inner = fact.owner.node.inner
        assert inner is not None  # noqa: S101
        return enter_graph(state, inner, fact.owner, fact.owner.inputs)[1]
    if isinstance(fact, LevelsOver):
        return look_at_levels(state, fact.since)
    skip(state, fact.frame, fact.item)
    return DONE


# The session as a whole


def _update_status(state: SessionState) -> None:
    if state.ended or state.root is None:
        return
    if state.lock is not None:
        change_status(state, "suspended_locked", state.lock.reason)
    elif state.paused:
        change_status(state, "paused", state.pause_reason)
    elif state.questions and _is_idle(state):
        change_status(state, "waiting", "question_open")
    elif not state.running:
        change_status(state, "running", "")


def _is_idle(state: SessionState) -> bool:
    """Whether nothing is to be done until somebody outside does something."""
    busy = any(frame.checking_until or frame.ways is not None for frame in state.frames.values())
    return not busy and all(state.is_waiting(step) for step in state.steps.values())


def todo(state: SessionState) -> list[Command]:
    """Everything that is under way: what a process that takes the session over must do."""
    commands: list[Command] = []
    for step in state.steps.values():
        if step.routing is not None:
            commands.append(Route(step, step.routing))
        elif not state.is_waiting(step):
            commands.append(step)
    for frame in state.frames.values():
        if frame.ways is not None:
            commands.append(ProcessWayOut(frame, frame.ways))
        elif frame.checking_until:
            data, text = frame.hear()
            commands.append(CheckUntil(frame, data, text))
    return commands
