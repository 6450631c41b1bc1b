"""Which item of which scope runs next: settled joins, dead paths, levels, inner graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rondel.engine.core.effects import Route, Skipped
from rondel.engine.core.ends import end_with_output
from rondel.engine.core.frame import Frame
from rondel.engine.core.state import NO_LEVELS, NO_NODES, SessionState
from rondel.engine.core.step import Step
from rondel.engine.core.steps import drop_step
from rondel.engine.core.transcript import Delivery
from rondel.engine.core.work import (
    DONE,
    ItemReady,
    ItemSettled,
    ItemSkipped,
    LevelsOver,
    RoundOver,
    Work,
)
from rondel.engine.message import Message
from rondel.graph.plan import InnerLoop, Scope

SETTLED: Final = -1
"""What an item waits for once it is over, where a round goes by level."""

# Items


def settle(state: SessionState, frame: Frame, item: int) -> list[Work]:
    """An item is over: see what waited for nothing else."""
    scope, waits = frame.scope, frame.waits
    frame.open -= 1
    if frame.open == 0:
        return [RoundOver(frame)]
    cut = bool(state.cuts) and state.is_cut(frame)
    work: list[Work] = []
    for target, count in scope.settles[item]:
        left = waits[target] - count
        waits[target] = left
        if not left:
            _begin(frame, target, work, cut=cut)
    if scope.exit_now:
        waits[item] = SETTLED
        _note_level(state, frame)
    _settle_skipped(work)
    return work


def begin_all(state: SessionState, frame: Frame, items: list[int]) -> list[Work]:
    """Every edge into these items is settled: first all begin that run, then the others settle."""
    cut = bool(state.cuts) and state.is_cut(frame)
    work: list[Work] = []
    for item in items:
        _begin(frame, item, work, cut=cut)
    _settle_skipped(work)
    return work


def _begin(frame: Frame, item: int, work: list[Work], *, cut: bool) -> None:
    """Every edge into an item is settled: whether it runs, or waits for its level."""
    scope = frame.scope
    what = scope.items[item]
    if cut or frame.fired[item] < scope.quorum[item]:
        work.append(ItemSkipped(frame, item))
    elif scope.exit_now and scope.levels[item] > frame.level:
        frame.wait_for_level(item)
    elif isinstance(what, InnerLoop) and not frame.heads_hit(item, what):
        work.append(ItemSkipped(frame, item))
    else:
        work.append(ItemReady(frame, item))


def _settle_skipped(work: list[Work]) -> None:
    """Those that do not run are over once all others began, the last of them first."""
    for index in range(len(work) - 1, -1, -1):
        fact = work[index]
        if isinstance(fact, ItemSkipped):
            work.append(ItemSettled(fact.frame, fact.item))


def skip(state: SessionState, frame: Frame, item: int) -> None:
    """An item of the round does not run."""
    if state.effects is not None:
        state.effects.append(Skipped(frame.path(frame.round), frame.scope.items[item]))


# Levels (`exit: now`)


def _note_level(state: SessionState, frame: Frame) -> None:
    if state.ended_levels is NO_LEVELS:
        state.ended_levels = []
    state.ended_levels.append(frame)


def look_at_levels(state: SessionState, since: int) -> list[Work]:
    """See whether a level is over, the newest first, until none is left but those before."""
    if len(state.ended_levels) <= since:
        return DONE
    frame = state.ended_levels.pop()
    return [*_next_level(state, frame), LevelsOver(since)]


def _next_level(state: SessionState, frame: Frame) -> list[Work]:
    """A level is over when nothing in it is under way."""
    if frame.busy or not frame.open:
        return DONE
    if frame.exited:
        for item, waits in enumerate(frame.waits):
            if waits != SETTLED:
                skip(state, frame, item)
        frame.open = 0
        return [RoundOver(frame)]
    waiting, frame.waiting_items = frame.waiting_items, []
    frame.level = min([frame.scope.levels[item] for item in waiting])
    return begin_all(state, frame, sorted(waiting))


# Graphs


def enter_graph(
    state: SessionState, scope: Scope, owner: Step | None, messages: Iterable[Message]
) -> tuple[Frame, list[Work]]:
    """Enter the session's graph, or that of a step's node, with these messages."""
    frame = state.add_frame(scope, owner.frame if owner else None, owner)
    frame.begin_round()
    for start in scope.starts:
        transcript = state.transcripts.of(start)
        for index, message in enumerate(messages):
            transcript.put(Delivery(frame.prefix, 0, 0, -1, index, message, None))
        frame.fire_start(start)
    ready = [item for item, waits in enumerate(scope.waits) if waits == 0]
    since = len(state.ended_levels)
    return frame, [*begin_all(state, frame, ready), LevelsOver(since)]


def leave_graph(state: SessionState, frame: Frame) -> list[Work]:
    """Every item of a graph is over: so is the session, or the graph's output goes on."""
    owner = frame.owner
    if owner is None:
        end_with_output(state, frame)
        return DONE
    state.transcripts.forget(frame.scope.nodes, private=frame.scope.dialect.state_per_call)
    del state.frames[frame.entry]
    if state.is_cut(frame):
        return drop_step(state, owner.number)
    produced = frame.output
    _note_silence(state, owner.node.index, silent=not produced)
    owner.routing = (produced[-1],) if produced else ()
    state.commands.append(Route(owner, owner.routing))
    return DONE


def _note_silence(state: SessionState, node: int, *, silent: bool) -> None:
    """The graph inside a node is over, with an output or none."""
    if silent:
        if state.silent is NO_NODES:
            state.silent = {}
        state.silent[node] = None
    elif node in state.silent:
        del state.silent[node]
