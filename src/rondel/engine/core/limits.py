"""Where a loop or the whole run has used up what it may: refusals, and what people answer."""

from __future__ import annotations

from rondel.engine import ticks
from rondel.engine.core.contract import CONTINUE, STOP, Choice, Ruling, by_budget, by_goal, chosen
from rondel.engine.core.effects import LoopAnswered, StepTicked
from rondel.engine.core.ends import end_over_budget, end_session, record_loop_end
from rondel.engine.core.frame import Frame
from rondel.engine.core.loops import ask_at_limit, end_by_contract, go_on
from rondel.engine.core.state import SessionState
from rondel.engine.core.steps import drop_step
from rondel.engine.core.work import DONE, Work
from rondel.graph.spec import BUDGET_EXHAUSTED, CANCELLED, EXIT_EDGE


def refuse(state: SessionState, tick: ticks.Refused) -> list[Work]:
    """A model call was refused: nothing new starts in the loop whose budget is used up."""
    step, frame = state.steps[tick.step], state.frames[tick.entry]
    state.mark(StepTicked(step, tick, step.address))
    if frame.scope.head is None:
        end_over_budget(state)
        return DONE
    if _asks(state, frame):
        state.parked = {**state.parked, step.number: frame.entry}
        if -frame.entry not in state.questions:
            budget = frame.scope.contract.budget
            ruling = by_budget(budget, frame.progress, state.active, cut=True)
            ask_at_limit(state, frame, ruling or Ruling(BUDGET_EXHAUSTED))
        return DONE
    _cut(state, frame)
    return drop_step(state, step.number)


def _asks(state: SessionState, frame: Frame) -> bool:
    """Whether somebody is to say how a loop goes on whose budget is used up."""
    if frame.progress.on_limit != "ask" or frame.leaving or state.is_cut(frame):
        return False
    return by_goal(frame.scope.contract, frame.score, until_met=False) is None


def _cut(state: SessionState, frame: Frame) -> None:
    """Let nothing new start in the loop; its round ends with what is under way."""
    if not frame.cut:
        frame.cut = True
        state.cuts += 1


def answer_loop(state: SessionState, tick: ticks.Answered) -> list[Work]:
    """Somebody says how a loop at its limit goes on."""
    frame = state.frames[-tick.step]
    state.mark(LoopAnswered(frame, frame.address, tick))
    choice, ruling = chosen(tick.answer), frame.ruling or Ruling(EXIT_EDGE)
    if choice is None:
        ask_at_limit(state, frame, ruling, str(tick.answer))
        return DONE
    del state.questions[tick.step]
    frame.ruling = None
    parked = [step for step, entry in state.parked.items() if entry == frame.entry]
    for step in parked:
        del state.parked[step]
    if choice.action == CONTINUE and not state.is_cut(frame):
        return _extend(state, frame, choice, parked)
    if choice.action != STOP:
        return _take_best(state, frame, ruling, parked)
    text = f"stopped by {tick.by or 'the user'} at the limit of loop {frame.scope.name!r}"
    record_loop_end(state, frame, ruling)
    del state.frames[frame.entry]
    end_session(state, "cancelled", "stopped", text, CANCELLED)
    return DONE


def _extend(state: SessionState, frame: Frame, choice: Choice, parked: list[int]) -> list[Work]:
    progress = frame.progress
    progress.allowance = frame.round + (choice.rounds or frame.scope.max_rounds)
    progress.grants += 1
    progress.stale = 0
    if not parked:
        return go_on(state, frame)
    for step in parked:
        state.commands.append(state.steps[step])
    return DONE


def _take_best(state: SessionState, frame: Frame, ruling: Ruling, parked: list[int]) -> list[Work]:
    frame.progress.on_limit = "best"
    if not parked:
        return end_by_contract(state, frame, ruling)
    _cut(state, frame)
    work: list[Work] = []
    for step in parked:
        work.extend(drop_step(state, step))
    return work
