"""Which item of which scope runs next: settled joins, dead paths, levels, rounds, ways out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from rondel.engine.contexts import Contexts
from rondel.engine.effects import (
    Command,
    Effect,
    Leave,
    LoopEnded,
    RoundEnded,
    RoundStarted,
    Skipped,
)
from rondel.engine.endings import EXIT_EDGE, FAILED, MAX_ROUNDS, NO_RETRIGGER, Endings
from rondel.engine.frame import Emission, Frame, address_of
from rondel.engine.message import Message
from rondel.engine.step import Step
from rondel.engine.transcript import Delivery
from rondel.graph.plan import Group, Plan, Scope

SETTLED = -1
"""What an item waits for once it is over."""


class Schedule(ABC):
    """The part of the core that follows the plan; steps and sessions are the other part."""

    def __init__(self, plan: Plan, effects: list[Effect] | None) -> None:
        self.plan = plan
        self.effects = effects
        self.commands: list[Command] = []
        self.contexts = Contexts(plan)
        self.endings = Endings(plan)
        self.frames: dict[int, Frame] = {}
        self.entry_count = 0

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether the session is over."""

    @abstractmethod
    def _start(self, frame: Frame, item: int, node: int, visit: int = 1) -> None:
        """Run a node."""

    @abstractmethod
    def _leave_graph(self, frame: Frame) -> None:
        """Every item of a graph is over."""

    @abstractmethod
    def _end(self, status: str, reason: str, message: str, loop_reason: str) -> None:
        """End the session."""

    def _mark(self, effect: Effect) -> None:
        if self.effects is not None:
            self.effects.append(effect)

    # Items of a scope

    def _settle_all(self, work: list[tuple[Frame, int] | None]) -> None:
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
            frame.open -= 1
            waits = frame.waits
            waits[item] = SETTLED
            for target, count in frame.scope.settles[item]:
                left = waits[target] - count
                waits[target] = left
                if left == 0 and not self._begin(frame, target):
                    work.append((frame, target))
            if frame.open == 0:
                work.append(self._end_round(frame))
            elif frame.scope.exit_now:
                barriers.append(frame)

    def _begin(self, frame: Frame, item: int) -> bool:
        """Every edge into the item is settled: run it, or skip it (False)."""
        if self.ended:
            return True
        scope = frame.scope
        if frame.fired[item] < scope.quorum[item]:
            return self._skip(frame, item)
        if scope.exit_now and scope.levels[item] > frame.level:
            frame.held.append(item)
            return True
        what = scope.items[item]
        if isinstance(what, Group):
            return self._enter_group(frame, item, what)
        frame.busy += 1
        self._start(frame, item, what)
        return True

    def _skip(self, frame: Frame, item: int) -> bool:
        if self.effects is not None:
            around = address_of(frame, frame.round, "")
            self.effects.append(Skipped(around, frame.scope.items[item]))
        return False

    def _next_level(self, frame: Frame) -> list[tuple[Frame, int] | None]:
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

    # Loops

    def _enter_group(self, parent: Frame, item: int, group: Group) -> bool:
        hits = parent.hits.get(item, {})
        heads = [node for node, edges in hits.items() if len(edges) >= group.quorum[node]]
        if not heads:
            return self._skip(parent, item)
        if len(heads) > 1:
            names = " and ".join(repr(self.plan.nodes[head].id) for head in sorted(heads))
            text = f"a loop is entered at one node, but {names} were triggered at once"
            self._end("failed", "two_entries", text, FAILED)
            return True
        parent.busy += 1
        self._next_round(self._frame(group.scope(heads[0]), parent, None))
        return True

    def _frame(self, scope: Scope, parent: Frame | None, owner: Step | None) -> Frame:
        self.entry_count += 1
        frame = Frame(self.entry_count, scope, parent, owner)
        self.frames[frame.entry] = frame
        return frame

    def _next_round(self, frame: Frame) -> None:
        frame.begin_round()
        if self.effects is not None:
            self.effects.append(RoundStarted(frame, frame.round, frame.address))
        head = frame.scope.head
        assert head is not None  # noqa: S101
        frame.busy += 1
        self._start(frame, frame.scope.item_of[head], head)

    def _end_round(self, frame: Frame) -> tuple[Frame, int] | None:
        """The one point where a loop decides whether it goes on."""
        scope = frame.scope
        if scope.head is None:
            self._leave_graph(frame)
            return None
        delta = frame.close_round()
        if self.effects is not None:
            self.effects.append(RoundEnded(frame, frame.round, frame.address, frame.value, delta))
        if frame.exited:
            if scope.exit_now or not frame.retriggered:
                return self._leave(frame, EXIT_EDGE)
            frame.leaving = True
            frame.busy += 1
            self._start(frame, scope.item_of[scope.head], scope.head, visit=2)
            return None
        if frame.round >= scope.max_rounds:
            return self._end_at_limit(frame)
        if not frame.retriggered:
            return self._leave(frame, NO_RETRIGGER)
        self._next_round(frame)
        return None

    def _end_at_limit(self, frame: Frame) -> tuple[Frame, int] | None:
        ways = {
            edge: frame.emitted.get(edge) or Emission(frame.prefix, frame.round, 0, [])
            for edge in frame.scope.limit_ways
        }
        frame.emitted = ways
        if any(self.plan.edges[edge].spec.process is not None for edge in ways):
            frame.at_limit = True
            self.commands.append(Leave(frame, ways))
            return None
        self._force_out(frame, ways, {})
        return self._leave(frame, MAX_ROUNDS)

    def _force_out(
        self,
        frame: Frame,
        ways: dict[int, Emission],
        altered: dict[int, list[Message | None]],
    ) -> None:
        """Fire the edges by which a contract leaves the loop."""
        for index, emission in ways.items():
            edge = self.plan.edges[index]
            messages = altered.get(index, emission.messages)
            inbox = self.contexts[edge.target].transcript.inbox
            for number, message in enumerate(messages):
                if edge.touches:
                    carried = message if edge.carry else None
                    inbox.append(Delivery(*emission[:3], index, number, carried, edge))
            if not emission.messages or any(message is not None for message in messages):
                frame.pull_out(index, edge.target)

    def _leave(self, frame: Frame, reason: str) -> tuple[Frame, int] | None:
        """End the loop; the item it is in the scope around it is settled."""
        self._record_end(frame, reason)
        self.contexts.drop_pending(frame.scope.nodes)
        del self.frames[frame.entry]
        parent = frame.parent
        assert parent is not None  # noqa: S101
        parent.busy -= 1
        parent.note(frame.value, parent.scope.levels[frame.item], frame.item)
        return parent, frame.item

    def _record_end(self, frame: Frame, reason: str) -> None:
        end = self.endings.record(frame, reason)
        self._mark(LoopEnded(frame, end))
