"""Which item of which scope runs next: settled joins, dead paths, levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from rondel.engine.core.effects import Effect, Skipped
from rondel.engine.core.endings import Endings
from rondel.engine.core.frame import Frame
from rondel.engine.core.queue import Queue
from rondel.engine.core.step import Step
from rondel.engine.core.transcripts import Contexts
from rondel.engine.message import Message
from rondel.graph.plan import Group, Plan, Scope

Settled = tuple[Frame, int]
"""An item of a round that is over."""

SETTLED: Final = -1
"""What an item waits for once it is over."""


class Schedule(ABC):
    """The part of the core that follows the plan; loops, steps and sessions build on it."""

    def __init__(self, plan: Plan, effects: list[Effect] | None) -> None:
        self.plan = plan
        self.effects = effects
        self.commands = Queue()
        """What is to be done because of the last tick."""
        self.contexts = Contexts(plan)
        self.endings = Endings()
        self.frames: dict[int, Frame] = {}
        self.entry_count = 0
        self.cuts = 0
        """How many loops have run out of budget and wait for the end of their round."""
        self.ended = False
        """Whether the session is over."""

    @abstractmethod
    def _start(
        self,
        frame: Frame,
        item: int,
        node: int,
        visit: int = 1,
        given: tuple[Message, ...] | None = None,
    ) -> None:
        """Run a node, on what was delivered to it or on what it is given."""

    @property
    @abstractmethod
    def active(self) -> float:
        """Seconds the session has run so far, waiting excluded."""

    @abstractmethod
    def _enter_group(self, parent: Frame, item: int, group: Group) -> bool:
        """Enter a loop, or skip it (False)."""

    @abstractmethod
    def _end_round(self, frame: Frame) -> Settled | None:
        """Every item of a round is over; what that settles in the scope around it, if anything."""

    @abstractmethod
    def _end(self, status: str, reason: str, message: str, loop_reason: str) -> None:
        """End the session."""

    def _mark(self, effect: Effect) -> None:
        if self.effects is not None:
            self.effects.append(effect)

    # Items of a scope

    def _settle_all(self, work: list[Settled | None]) -> None:
        """Items are over: tell whoever waits for them, and see what that starts or ends."""
        barriers: list[Frame] = []
        while (work or barriers) and not self.ended:
            if not work:
                work.extend(self._next_level(barriers.pop()))
                continue
            settled = work.pop()
            if settled is None:
                continue
            frame, item = settled
            scope = frame.scope
            frame.open -= 1
            if scope.exit_now:
                frame.own_waits()[item] = SETTLED
            for target, count in scope.settles[item]:
                if frame.count_down(target, count) == 0 and not self._begin(frame, target):
                    work.append((frame, target))
            if frame.open == 0:
                work.append(self._end_round(frame))
            elif scope.exit_now:
                barriers.append(frame)

    def _begin(self, frame: Frame, item: int) -> bool:
        """Every edge into the item is settled: run it, or skip it (False)."""
        if self.ended:
            return True
        scope = frame.scope
        if frame.fired[item] < scope.quorum[item] or (self.cuts and self._is_cut(frame)):
            return self._skip(frame, item)
        if scope.exit_now and scope.levels[item] > frame.level:
            frame.hold(item)
            return True
        what = scope.items[item]
        if not isinstance(what, int):
            return self._enter_group(frame, item, what)
        frame.busy += 1
        self._start(frame, item, what)
        return True

    def _skip(self, frame: Frame, item: int) -> bool:
        if self.effects is not None:
            self.effects.append(Skipped(frame.path(frame.round), frame.scope.items[item]))
        return False

    def _next_level(self, frame: Frame) -> list[Settled | None]:
        """`exit: now`: the level is over when nothing in it is under way."""
        if frame.busy or not frame.open:
            return []
        if frame.exited:
            for item, waits in enumerate(frame.waits):
                if waits != SETTLED:
                    self._skip(frame, item)
            frame.open = 0
            return [self._end_round(frame)]
        held, frame.held = frame.held, []
        frame.level = min(frame.scope.levels[item] for item in held)
        return [(frame, item) for item in sorted(held) if not self._begin(frame, item)]

    def _frame(self, scope: Scope, parent: Frame | None, owner: Step | None) -> Frame:
        self.entry_count += 1
        frame = Frame(self.entry_count, scope, parent, owner, self.active)
        self.frames[frame.entry] = frame
        return frame

    def _is_cut(self, frame: Frame) -> bool:
        """Whether a budget around the frame is used up, so that nothing new starts in it."""
        around: Frame | None = frame if self.cuts else None
        while around is not None:
            if around.cut:
                return True
            around = around.parent
        return False
