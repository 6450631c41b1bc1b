"""How loops ended, and what that says about the session."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from mypy_extensions import mypyc_attr

from rondel.engine.core.frame import Frame
from rondel.engine.core.loop_end import LoopEnd
from rondel.engine.core.ruling import Ruling
from rondel.engine.protocols import Verdict
from rondel.graph.plan import Plan
from rondel.graph.reasons import BREAKER_TRIPPED, BUDGET_EXHAUSTED, CANCELLED, EXIT_EDGE, FAILED

NO_ENDS: Final[dict[int, LoopEnd]] = {}
NO_LOOPS: Final[dict[tuple[int, ...], bool]] = {}
"""What every session begins with, shared by all and never changed."""

CUT_OFF: Final = (FAILED, CANCELLED, BREAKER_TRIPPED)
"""Reasons of loops that ended in the middle of a round."""

MOST_NAMED: Final = 4
"""How many nodes a sentence names."""


@mypyc_attr(acyclic=True)
class Endings:
    """The last end of every loop of a session."""

    __slots__ = ("by_loop", "last")

    def __init__(self) -> None:
        self.last = NO_ENDS
        """By head."""
        self.by_loop = NO_LOOPS
        """By loop, whichever its head: whether its last entry missed its goal."""

    @property
    def bounded(self) -> bool:
        """Whether some loop ended without its goal and no loop around it made up for that."""
        return any(self.by_loop.values())

    @property
    def cut_first_round(self) -> str:
        """Which loops' budgets did not last for one round, in words; else an empty text."""
        text = ""
        for end in self.last.values():
            if end.reason == BUDGET_EXHAUSTED and end.rounds == 1:
                figures = Ruling(end.reason, end.value, end.threshold).figures
                text += f"; the budget of the loop {end.loop!r} was used up in its first round"
                text += f"{figures}, raise it"
        return text

    def record(self, frame: Frame, ruling: Ruling, plan: Plan) -> LoopEnd:
        """A loop is over for this reason; a node that steered it may know a better one."""
        head, parent = frame.scope.head, frame.parent
        assert head is not None and parent is not None  # noqa: S101, PT018
        loop = plan.nodes[head].id
        before = self.last.get(head)
        verdict, reached = frame.verdict, frame.reached
        if ruling.reason == EXIT_EDGE and verdict is not None:
            ruling = Ruling(verdict.reason, verdict.value, verdict.threshold)
        end = LoopEnd(
            loop=loop,
            address=frame.around + frame.scope.name,
            rounds=frame.round,
            reason=ruling.reason,
            value=ruling.value,
            threshold=ruling.threshold,
            best_round=frame.progress.best_round,
            bounded=reached is False,
            entries=before.entries + 1 if before else 1,
            score=_score(frame),
            target=frame.target,
            note=_note(frame, ruling.reason, plan),
        )
        if self.last is NO_ENDS:
            self.last = {}
        self.last[head] = end
        if reached:
            self._make_up_for(frame, plan)
        self._own_loops()[frame.scope.nodes] = end.bounded
        return end

    def note_node(self, node: int, verdict: Verdict) -> None:
        """A node that goes round inside itself is over: whether it missed its goal."""
        self._own_loops()[(node,)] = verdict.goal_met is False

    def _make_up_for(self, frame: Frame, plan: Plan) -> None:
        """A loop that reaches its goal speaks for the loops inside it."""
        members = frame.scope.item_of
        self.by_loop = {
            loop: bounded
            for loop, bounded in self.by_loop.items()
            if not _is_inside(loop[0], members, plan)
        }

    def _own_loops(self) -> dict[tuple[int, ...], bool]:
        if self.by_loop is NO_LOOPS:
            self.by_loop = {}
        return self.by_loop


def _is_inside(node: int | None, members: Container[int], plan: Plan) -> bool:
    while node is not None:
        if node in members:
            return True
        node = plan.nodes[node].owner
    return False


def _score(frame: Frame) -> float | None:
    """The score of the last round."""
    if frame.value is not None or frame.goal is None:
        return frame.value
    return frame.goal.score


def _note(frame: Frame, reason: str, plan: Plan) -> str:
    """Where a score was looked for, if the loop was to reach one and no round had any."""
    if frame.target is None or frame.progress.scored or reason in CUT_OFF:
        return ""
    (path, node), rounds = frame.scope.gauges[0], frame.round
    names = [plan.nodes[member].name for member in (frame.scope.nodes if node is None else (node,))]
    whose = ", ".join(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        whose += f" and {len(names) - MOST_NAMED} more"
    return (
        f"no score found in {rounds} round{'' if rounds == 1 else 's'}; looked at "
        f"data.{'.'.join(path)} and JSON in the text of {whose}"
    )
