"""Rounds, contracts and ways out: when a loop goes on, when it ends, and with what."""

from __future__ import annotations

from collections.abc import Sequence

from rondel.engine.core.checkpoint import Checkpoint, Emission
from rondel.engine.core.contract import (
    Ruling,
    by_budget,
    by_goal,
    by_regression,
    by_stagnation,
    limit_question,
)
from rondel.engine.core.effects import (
    CheckUntil,
    LoopAsked,
    ProcessWayOut,
    RoundEnded,
    RoundStarted,
    Setback,
)
from rondel.engine.core.ends import fail_session, record_loop_end
from rondel.engine.core.frame import Frame
from rondel.engine.core.scheduling import begin_all
from rondel.engine.core.state import SessionState
from rondel.engine.core.steps import ask, start_step
from rondel.engine.core.transcript import Delivery
from rondel.engine.core.work import DONE, ItemReady, ItemSettled, RoundDue, Work
from rondel.engine.message import Message
from rondel.engine.ticks import Altered
from rondel.graph.plan import InnerLoop
from rondel.graph.spec import EXIT_EDGE, MAX_ROUNDS, NO_RETRIGGER

ROUND_END = "round_end"
"""Why a session is paused that somebody looks at round by round."""

LOOP = "LOOP"
"""The source of what a loop itself tells its head."""

# Rounds


def enter_loop(state: SessionState, parent: Frame, item: int, group: InnerLoop) -> list[Work]:
    """Enter a loop at the one node of it that was triggered."""
    heads = parent.heads_hit(item, group)
    if len(heads) > 1:
        names = " and ".join([repr(state.plan.nodes[head].id) for head in sorted(heads)])
        text = f"a loop is entered at one node, but {names} were triggered at once"
        fail_session(state, "two_entries", text)
        return DONE
    parent.forget_hits(item)
    parent.busy += 1
    return next_round(state, state.add_frame(group.scope(heads[0]), parent, None))


def next_round(state: SessionState, frame: Frame) -> list[Work]:
    """Begin a round: what nothing in the loop triggers is skipped, and the head starts."""
    frame.begin_round()
    if frame.scope.carry is not None:
        _forget_old_rounds(state, frame, frame.scope.carry)
    if state.effects is not None:
        state.effects.append(RoundStarted(frame, frame.round, frame.address))
    head = frame.scope.head
    assert head is not None  # noqa: S101
    starts = ItemReady(frame, frame.scope.item_of[head])
    if not frame.scope.strays:
        return [starts]
    return [*begin_all(state, frame, frame.scope.strays), starts]


def _forget_old_rounds(state: SessionState, frame: Frame, carry: int) -> None:
    begun = frame.progress.begun = [*frame.progress.begun, state.step_count][-carry - 1 :]
    if len(begun) > 1:
        state.transcripts.age(frame.scope.nodes, begun[0] + 1)


def end_round(state: SessionState, frame: Frame) -> list[Work]:
    """Every item of a round is over: decide, or have the contract's `until` evaluated first."""
    if frame.scope.has_until and not state.is_cut(frame):
        frame.checking_until = True
        data, text = frame.hear()
        state.commands.append(CheckUntil(frame, data, text))
        return DONE
    return decide(state, frame, until_met=False)


def decide(state: SessionState, frame: Frame, *, until_met: bool) -> list[Work]:
    """The one point where a loop decides whether it goes on."""
    scope, progress, value = frame.scope, frame.progress, frame.score
    frame.checking_until = False
    goal: Ruling | None = None
    if until_met or scope.target is not None:
        goal = by_goal(scope.contract, value, until_met)
    progress.met = goal is not None
    cut = bool(state.cuts) and state.is_cut(frame)
    best = progress.best_value
    delta = None if state.effects is None else progress.delta(value)
    _close_round(state, frame, value, cut=cut)
    if state.effects is not None:
        state.effects.append(RoundEnded(frame, frame.round, frame.address, value, delta))
    ruling: Ruling | None = None
    if cut or scope.has_budget:
        ruling = by_budget(scope.contract.budget, progress, state.active, cut=cut)
    if ruling is None and frame.exited:
        return _leave_by_edge(state, frame)
    if ruling is None:
        ruling = goal
    if ruling is None and value is not None and scope.heeds_setbacks:
        ruling = _setback(state, frame, value, best)
    if ruling is None and frame.round >= progress.allowance:
        ruling = Ruling(MAX_ROUNDS, float(frame.round), float(progress.allowance))
    return go_on(state, frame) if ruling is None else end_by_contract(state, frame, ruling)


def _close_round(state: SessionState, frame: Frame, value: float | None, *, cut: bool) -> None:
    progress = frame.progress
    progress.scored = progress.scored or value is not None
    if cut:
        progress.last_emitted = {**progress.last_emitted, **frame.emitted}
        return
    if frame.scope.heeds_setbacks and progress.is_best(value):
        _mark_best(state, frame)
    progress.close_round(frame.round, value, frame.emitted)


def _mark_best(state: SessionState, frame: Frame) -> None:
    """Remember where the best round so far ended, if a later one may start from there."""
    regression, progress = frame.scope.contract.regression, frame.progress
    if regression is not None and regression.action == "rollback":
        nodes = state.transcripts.remember(frame.scope.nodes)
        progress.checkpoint = Checkpoint(nodes, list(progress.begun))


def _setback(state: SessionState, frame: Frame, value: float, best: float | None) -> Ruling | None:
    """Look for a round that is worse or no better, tell of it, and say if the loop ends."""
    contract, progress = frame.scope.contract, frame.progress
    regression, patience = contract.regression, contract.patience
    ruling: Ruling | None = None
    if regression is not None and best is not None and best - value >= regression.drop:
        _tell_setback(state, frame, value - best, regression.action, regressed=True)
        frame.rolls_back = regression.action == "rollback"
        ruling = by_regression(contract, best - value)
    if patience is not None and progress.has_stalled(value, patience):
        gain = value - (progress.reference or 0.0)
        _tell_setback(state, frame, gain, patience.then, regressed=False)
        frame.nudged = patience.then == "nudge"
        progress.stale = 0
        ruling = ruling or by_stagnation(contract, gain)
    return ruling


def _tell_setback(
    state: SessionState, frame: Frame, delta: float, action: str, *, regressed: bool
) -> None:
    state.mark(Setback(frame, frame.round, frame.address, regressed, delta, action))


def go_on(state: SessionState, frame: Frame) -> list[Work]:
    """Begin the next round, if anything starts it."""
    checkpoint = frame.progress.checkpoint
    if frame.rolls_back and checkpoint is not None:
        state.transcripts.restore(frame.scope.nodes, checkpoint.nodes)
        frame.progress.begun = list(checkpoint.begun)
        frame.progress.last_value = frame.progress.best_value
        frame.retriggered = True
    if not frame.retriggered:
        return leave_loop(state, frame, Ruling(NO_RETRIGGER))
    if frame.nudged:
        _nudge(state, frame)
    if _pauses_after(state, frame):
        frame.halted = state.paused = True
        state.pause_reason = ROUND_END
        return DONE
    return next_round(state, frame)


def _pauses_after(state: SessionState, frame: Frame) -> bool:
    """Whether somebody wants to look at each round of the loop before the next one."""
    if state.free:
        return False
    scope = frame.scope
    named = bool(state.debug) and state.plan.nodes[scope.head or 0].id in state.debug
    return named or scope.contract.debug


def begin_halted(state: SessionState) -> list[Work]:
    """The session goes on, and with it every loop that waited for that after a round."""
    halted = [frame for frame in state.frames.values() if frame.halted]
    for frame in halted:
        frame.halted = False
    return [RoundDue(frame) for frame in halted]


def _nudge(state: SessionState, frame: Frame) -> None:
    """Tell the head, after all else it is told, that the loop gets nowhere."""
    patience, head = frame.scope.contract.patience, frame.scope.head
    assert patience is not None and head is not None  # noqa: S101, PT018
    text = (
        f"The last {patience.rounds} rounds gained less than {patience.min_delta:g}. "
        "Take a different approach this time."
    )
    if patience.min_delta == 0:
        text = text.replace("gained less than 0", "gained nothing")
    message = Message(text, role="user", source=LOOP)
    level = frame.scope.last_level + 2
    sent = Delivery(frame.prefix, frame.round, level, -1, 0, message, None)
    state.transcripts.of(head).put(sent)


# Ends


def _leave_by_edge(state: SessionState, frame: Frame) -> list[Work]:
    if frame.scope.exit_now or not frame.retriggered:
        return leave_loop(state, frame, Ruling(EXIT_EDGE))
    head = frame.scope.head
    assert head is not None  # noqa: S101
    frame.leaving = True
    return start_step(state, frame, frame.scope.item_of[head], head, visit=2)


def end_by_contract(state: SessionState, frame: Frame, ruling: Ruling) -> list[Work]:
    """The contract ends the loop: do what it says for a goal, or at a limit."""
    scope, progress = frame.scope, frame.progress
    if frame.exited or (frame.parent is not None and state.is_cut(frame.parent)):
        return leave_loop(state, frame, ruling)
    if frame.reached:
        ways = scope.goal_ways or scope.limit_ways
        return _send_out(state, frame, ruling, ways, progress.last_emitted)
    match progress.on_limit:
        case "fail":
            _fail_at_limit(state, frame, ruling)
            return DONE
        case "ask":
            ask_at_limit(state, frame, ruling)
            return DONE
        case "best" if progress.best_round is not None:
            return _send_out(state, frame, ruling, scope.limit_ways, progress.best_emitted)
        case _:
            return _send_out(state, frame, ruling, scope.limit_ways, progress.last_emitted)


def _send_out(
    state: SessionState,
    frame: Frame,
    ruling: Ruling,
    ways: tuple[int, ...],
    emitted: dict[int, Emission],
) -> list[Work]:
    """Leave by these edges, with what their sources emitted in the round handed on."""
    nothing: Emission = (frame.prefix, frame.round, 0, ())
    sent = {edge: emitted.get(edge, nothing) for edge in ways}
    if any(state.plan.edges[edge].spec.process is not None for edge in ways):
        frame.ruling, frame.ways = ruling, sent
        state.commands.append(ProcessWayOut(frame, sent))
        return DONE
    _force_out(state, frame, sent, {})
    return leave_loop(state, frame, ruling)


def leave_processed(state: SessionState, frame: Frame, altered: Altered) -> list[Work]:
    """The processes of the edges out of a loop are done: leave it with what they made."""
    _force_out(state, frame, frame.ways or {}, altered)
    return leave_loop(state, frame, frame.ruling or Ruling(EXIT_EDGE))


def _force_out(
    state: SessionState, frame: Frame, ways: dict[int, Emission], altered: Altered
) -> None:
    """Fire the edges by which a contract leaves the loop."""
    for index, (prefix, of_round, level, emitted) in ways.items():
        edge = state.plan.edges[index]
        messages: Sequence[Message | None] = altered.get(index) or emitted
        transcript = state.transcripts.of(edge.target)
        for number, message in enumerate(messages):
            if edge.touches:
                carried = message if edge.carry else None
                marked = edge if edge.marks else None
                transcript.put(Delivery(prefix, of_round, level, index, number, carried, marked))
        if not emitted or any(message is not None for message in messages):
            frame.pull_out(index, edge.target)


def _fail_at_limit(state: SessionState, frame: Frame, ruling: Ruling) -> None:
    record_loop_end(state, frame, ruling)
    del state.frames[frame.entry]
    text = (
        f"loop {frame.scope.name!r} ended after round {frame.round} without reaching its "
        f"goal: {ruling.reason}{ruling.figures}; its on_limit is fail"
    )
    fail_session(state, ruling.reason, text)


def ask_at_limit(state: SessionState, frame: Frame, ruling: Ruling, refused: str = "") -> None:
    """At its limit a loop waits for somebody to say how it goes on."""
    frame.ruling = ruling
    question = limit_question(frame, ruling, refused)
    ask(state, -frame.entry, question)
    emitted = frame.progress.last_emitted
    shown = [m for way in frame.scope.limit_ways if way in emitted for m in emitted[way][3]]
    state.mark(LoopAsked(frame, frame.address, question, shown))


def leave_loop(state: SessionState, frame: Frame, ruling: Ruling) -> list[Work]:
    """End the loop; the item it is in the scope around it is settled."""
    record_loop_end(state, frame, ruling)
    state.transcripts.drop_pending(frame.scope.nodes)
    del state.frames[frame.entry]
    state.cuts -= frame.cut
    parent = frame.parent
    assert parent is not None  # noqa: S101
    parent.busy -= 1
    parent.take_up(frame)
    return [ItemSettled(parent, frame.item)]
