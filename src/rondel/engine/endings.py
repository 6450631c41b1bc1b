"""How loops ended, and what that says about the session."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import msgspec

from rondel.engine.frame import Frame
from rondel.engine.protocols import Verdict
from rondel.engine.ruling import Ruling
from rondel.graph.plan import Plan
from rondel.graph.reasons import EXIT_EDGE


class LoopEnd(msgspec.Struct, frozen=True):
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


NO_ENDS: Final[dict[int, LoopEnd]] = {}
NO_LOOPS: Final[dict[tuple[int, ...], bool]] = {}
"""What every session begins with, shared by all and never changed."""


class Endings:
    """The last end of every loop of a session."""

    __slots__ = ("_plan", "by_loop", "last")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.last = NO_ENDS
        """By head."""
        self.by_loop = NO_LOOPS
        """By loop, whichever its head: whether its last entry missed its goal."""

    @property
    def bounded(self) -> bool:
        """Whether some loop ended without its goal and no loop around it made up for that."""
        return any(self.by_loop.values())

    def record(self, frame: Frame, ruling: Ruling) -> LoopEnd:
        """A loop is over for this reason; a node that steered it may know a better one."""
        head, parent = frame.scope.head, frame.parent
        assert head is not None and parent is not None  # noqa: S101, PT018
        loop = self._plan.nodes[head].id
        before = self.last.get(head)
        verdict, reached = frame.verdict, _reached(frame)
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
        )
        if self.last is NO_ENDS:
            self.last = {}
        self.last[head] = end
        self._note_bounded(frame, bounded=end.bounded, reached=reached is True)
        return end

    def note_node(self, node: int, verdict: Verdict) -> None:
        """A node that goes round inside itself is over: whether it missed its goal."""
        self._own_loops()[(node,)] = verdict.goal_met is False

    def _note_bounded(self, frame: Frame, *, bounded: bool, reached: bool) -> None:
        """A loop that reaches its goal speaks for the loops inside it."""
        if reached:
            members = frame.scope.item_of
            self.by_loop = {
                loop: bounded
                for loop, bounded in self.by_loop.items()
                if not self._is_inside(loop[0], members)
            }
        self._own_loops()[frame.scope.nodes] = bounded

    def _own_loops(self) -> dict[tuple[int, ...], bool]:
        if self.by_loop is NO_LOOPS:
            self.by_loop = {}
        return self.by_loop

    def _is_inside(self, node: int | None, members: Container[int]) -> bool:
        while node is not None:
            if node in members:
                return True
            node = self._plan.nodes[node].owner
        return False


def _reached(frame: Frame) -> bool | None:
    """Whether the loop has reached its goal; None if it has none."""
    if frame.progress.met or frame.goal:
        return True
    return False if frame.scope.contract.has_goal else frame.goal
