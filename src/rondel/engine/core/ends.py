"""How loops and sessions end, and what that comes to."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from rondel.engine.core.checkpoint import StepFailure
from rondel.engine.core.contract import LoopEnd, Ruling, by_budget
from rondel.engine.core.effects import LoopEnded, StatusChanged, StepStarted
from rondel.engine.core.frame import Frame
from rondel.engine.core.state import (
    ENDED,
    NO_GOALS_MISSED,
    NO_LOOP_ENDS,
    NO_QUESTIONS,
    NO_STEPS_PARKED,
    SessionState,
)
from rondel.engine.core.step import Step
from rondel.engine.protocols import Verdict
from rondel.graph.plan import Plan, PlanEdge
from rondel.graph.spec import BREAKER_TRIPPED, BUDGET_EXHAUSTED, CANCELLED, EXIT_EDGE, FAILED

CUT_OFF: Final = (FAILED, CANCELLED, BREAKER_TRIPPED)
"""Reasons of loops that ended in the middle of a round."""

MOST_NAMED: Final = 4
"""How many nodes a sentence names."""

# Sessions


def change_status(state: SessionState, status: str, reason: str) -> None:
    """Give the session this status, if it has another."""
    if status == state.status and reason == state.reason:
        return
    state.status = status
    state.reason = reason
    state.running = status == "running"
    state.ended = status in ENDED
    state.mark(StatusChanged(status, reason))


def end_session(
    state: SessionState, status: str, reason: str, message: str, loop_reason: str
) -> None:
    """End the session; loops still under way end with it, innermost first."""
    for frame in sorted(state.frames.values(), key=lambda f: -f.entry):
        if frame.scope.head is not None:
            record_loop_end(state, frame, Ruling(loop_reason))
    state.frames.clear()
    state.steps.clear()
    state.questions, state.parked = NO_QUESTIONS, NO_STEPS_PARKED
    state.commands = []
    state.message = message
    change_status(state, status, reason)


def fail_session(state: SessionState, reason: str, message: str) -> None:
    """End the session as failed."""
    end_session(state, "failed", reason, message, FAILED)


def break_off(state: SessionState, step: Step | None, reason: str, message: str) -> None:
    """End the session because something in it failed; `take_up_again` goes on from there."""
    failure = StepFailure(
        step,
        list(state.frames.values()),
        list(state.steps.values()),
        state.questions,
        state.parked,
        dict(state.loop_ends),
        dict(state.goals_missed),
    )
    fail_session(state, reason, message)
    state.failure = failure


def take_up_again(state: SessionState) -> bool:
    """Go on where something failed, if it did: what was under way then is under way again."""
    failure, state.failure = state.failure, None
    if failure is None:
        return False
    state.frames = {frame.entry: frame for frame in failure.frames}
    for step in (failure.step, *failure.steps):
        if step is not None:
            state.steps[step.number] = step
    state.questions, state.parked = failure.questions, failure.parked
    state.loop_ends, state.goals_missed = failure.ends, failure.ends_by_loop
    state.message = ""
    change_status(state, "running", "")
    if failure.step is not None:
        failure.step.earlier += len(failure.step.attempts) + 1
        failure.step.attempts = ()
        state.mark(StepStarted(failure.step, failure.step.address))
    return True


def end_over_budget(state: SessionState) -> None:
    """End the session: the budget of the whole run is used up."""
    assert state.root is not None  # noqa: S101
    budget = state.plan.spec.limits.budget
    ruling = by_budget(budget, state.root.progress, state.active, cut=True)
    figures = "" if ruling is None else ruling.figures
    text = f"the run used up what graph.limits allows{figures}; raise it, or bound its loops"
    end_session(state, "failed", BUDGET_EXHAUSTED, text, BUDGET_EXHAUSTED)


def end_with_output(state: SessionState, root: Frame) -> None:
    """End the session: every item of its graph is over."""
    if state.lock is not None:
        return  # nothing is left to do, but somebody must have seen the lock: to unlock ends it
    if root.output is None:
        cut = _loops_cut_at_once(state)
        reason = BUDGET_EXHAUSTED if cut else "no_output"
        fail_session(state, reason, _why_no_output(state, root) + cut)
    else:
        missed = any(state.goals_missed.values())
        end_session(state, "bounded" if missed else "completed", "", "", FAILED)


def _why_no_output(state: SessionState, root: Frame) -> str:
    """Why nothing came out, with the conditions that held for no message."""
    plan = state.plan
    text = f"no end node produced output ({_named(root.scope.ends, plan)})"
    for node in state.silent:
        inner = plan.nodes[node].inner
        ends = () if inner is None else inner.ends
        text += f"; nor did the graph in {plan.nodes[node].id!r} ({_named(ends, plan)})"
    edges = [plan.edges[edge] for node in state.unrouted for edge in plan.nodes[node].out]
    if edges:
        held = ", ".join([_edge(edge, plan) for edge in edges])
        text += f"; none of these conditions held: {held}"
    return text


def _loops_cut_at_once(state: SessionState) -> str:
    """Which loops' budgets did not last for one round, in words; else an empty text."""
    text = ""
    for end in state.loop_ends.values():
        if end.reason == BUDGET_EXHAUSTED and end.rounds == 1:
            figures = Ruling(end.reason, end.value, end.threshold).figures
            text += f"; the budget of the loop {end.loop!r} was used up in its first round"
            text += f"{figures}, raise it"
    return text


def _named(nodes: tuple[int, ...], plan: Plan) -> str:
    return ", ".join([repr(plan.nodes[node].id) for node in nodes])


def _edge(edge: PlanEdge, plan: Plan) -> str:
    source, target = plan.nodes[edge.source].id, plan.nodes[edge.target].id
    return f"{source} -> {target} ({edge.spec.condition.type})"


# Loops


def record_loop_end(state: SessionState, frame: Frame, ruling: Ruling) -> None:
    """A loop is over for this reason; a node that steered it may know a better one."""
    head, verdict, goal, reached = frame.scope.head, frame.verdict, frame.goal, frame.reached
    assert head is not None  # noqa: S101
    before = state.loop_ends.get(head)
    if ruling.reason == EXIT_EDGE and verdict is not None:
        ruling = Ruling(verdict.reason, verdict.value, verdict.threshold)
    end = LoopEnd(
        loop=state.plan.nodes[head].id,
        address=frame.around + frame.scope.name,
        rounds=frame.round,
        reason=ruling.reason,
        value=ruling.value,
        threshold=ruling.threshold,
        best_round=frame.progress.best_round,
        bounded=reached is False,
        entries=before.entries + 1 if before else 1,
        score=frame.score if frame.score is not None or goal is None else goal.score,
        target=frame.target,
        note=_note(frame, ruling.reason, state.plan),
    )
    if state.loop_ends is NO_LOOP_ENDS:
        state.loop_ends = {}
    state.loop_ends[head] = end
    if reached:
        _make_up_for_inner_loops(state, frame)
    _note_goal(state, frame.scope.nodes, missed=end.bounded)
    if state.effects is not None:
        state.effects.append(LoopEnded(frame, end))


def note_own_rounds(state: SessionState, node: int, verdict: Verdict) -> None:
    """A node that goes round inside itself is over: whether it missed its goal."""
    _note_goal(state, (node,), missed=verdict.goal_met is False)


def _note_goal(state: SessionState, loop: tuple[int, ...], *, missed: bool) -> None:
    if state.goals_missed is NO_GOALS_MISSED:
        state.goals_missed = {}
    state.goals_missed[loop] = missed


def _make_up_for_inner_loops(state: SessionState, frame: Frame) -> None:
    """A loop that reaches its goal speaks for the loops inside it."""
    members = frame.scope.item_of
    state.goals_missed = {
        loop: missed
        for loop, missed in state.goals_missed.items()
        if not _is_inside(loop[0], members, state.plan)
    }


def _is_inside(node: int | None, members: Container[int], plan: Plan) -> bool:
    while node is not None:
        if node in members:
            return True
        node = plan.nodes[node].owner
    return False


def _note(frame: Frame, reason: str, plan: Plan) -> str:
    """Where a score was looked for, if the loop was to reach one and no round had any."""
    if frame.target is None or frame.progress.scored or reason in CUT_OFF:
        return ""
    (path, node), rounds = frame.scope.scores[0], frame.round
    names = [plan.nodes[member].name for member in (frame.scope.nodes if node is None else (node,))]
    whose = ", ".join(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        whose += f" and {len(names) - MOST_NAMED} more"
    return (
        f"no score found in {rounds} round{'' if rounds == 1 else 's'}; looked at "
        f"data.{'.'.join(path)} and for '{path[-1].capitalize()}: N' or JSON in the text of {whose}"
    )
