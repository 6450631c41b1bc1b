"""The mutable state of a session: loop entries under way, and steps under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from rondel.engine.message import Message
from rondel.engine.protocols import Verdict
from rondel.engine.transcript import Transcript
from rondel.graph.plan import PlanNode, Scope


class NodeState:
    """What a node carries through the session."""

    __slots__ = ("private", "transcript")

    def __init__(self, window: int) -> None:
        self.transcript = Transcript(window)
        self.private: Any = None


class Emission(NamedTuple):
    """What a loop's way out would carry, and the logical time of the step that emitted it."""

    prefix: tuple[int, ...]
    round: int
    level: int
    messages: list[Message]


class Frame:
    """One entry of a scope: the graph, an inner graph, or a loop in its current round."""

    __slots__ = (
        "at_limit",
        "best_round",
        "best_value",
        "busy",
        "emitted",
        "entry",
        "exited",
        "fired",
        "goal",
        "goal_place",
        "held",
        "item",
        "last_value",
        "leaving",
        "level",
        "open",
        "outputs",
        "owner",
        "parent",
        "prefix",
        "retriggered",
        "round",
        "scope",
        "value",
        "value_place",
        "verdict",
        "verdict_place",
        "votes",
        "waits",
    )

    def __init__(self, entry: int, scope: Scope, parent: Frame | None, owner: Step | None) -> None:
        self.entry = entry
        self.scope = scope
        self.parent = parent
        self.owner = owner
        """The step of the node whose inner graph this is; None for the root and for loops."""
        self.item = scope.parent_item
        self.prefix: tuple[int, ...] = ()
        self.round = 0
        self.goal: bool | None = None
        self.leaving = False
        self.at_limit = False
        self.last_value: float | None = None
        self.best_value: float | None = None
        self.best_round: int | None = None
        self.outputs: dict[int, list[Message]] = {}
        """The last output of each of the graph's end nodes."""
        if owner is not None:
            self.prefix = (*owner.frame.prefix, owner.round, owner.level)
        elif parent is not None:
            self.prefix = (*parent.prefix, parent.round, parent.scope.levels[self.item])

    def begin_round(self) -> None:
        """Forget the last round's joins; the body starts anew."""
        scope = self.scope
        self.round += 1
        self.waits = scope.waits.copy()
        self.fired = [0] * len(self.waits)
        self.open = len(self.waits)
        self.busy = 0
        """How many items are under way."""
        self.votes: dict[int, dict[int, set[int]]] = {}
        """By item and node, the edges out of inner loops or into them that fired."""
        self.exited = False
        self.retriggered = False
        self.emitted: dict[int, Emission] = {}
        self.verdict: Verdict | None = None
        self.verdict_place = (-1, -1)
        self.goal_place = (-1, -1)
        self.value: float | None = None
        self.value_place = (-1, -1)
        self.level = 0
        self.held: list[int] = []

    def note(self, value: float | None, level: int, item: int) -> None:
        """A step of this round was measured; of several, the logically last one counts."""
        if value is not None and (level, item) >= self.value_place:
            self.value, self.value_place = value, (level, item)

    def close_round(self) -> float | None:
        """What the round gained over the last; the best is the first of the highest."""
        value, last = self.value, self.last_value
        if value is None:
            return None
        self.last_value = value
        if self.best_value is None or value > self.best_value:
            self.best_value, self.best_round = value, self.round
        return None if last is None else value - last

    def graph_frame(self) -> Frame:
        """The entry of the graph this frame runs in."""
        frame = self
        while frame.scope.head is not None and frame.parent is not None:
            frame = frame.parent
        return frame


class Step:
    """One execution of one node, from its start until its tick."""

    __slots__ = (
        "answer",
        "frame",
        "fresh",
        "inputs",
        "item",
        "level",
        "node",
        "number",
        "round",
        "routing",
        "state",
        "visit",
    )

    def __init__(
        self,
        number: int,
        node: PlanNode,
        frame: Frame,
        item: int,
        level: int,
        visit: int,
        state: NodeState,
    ) -> None:
        self.number = number
        self.node = node
        self.frame = frame
        self.item = item
        self.level = level
        self.round = frame.round
        self.visit = visit
        self.state = state
        self.inputs: Sequence[Message]
        self.fresh: Sequence[Message]
        self.inputs, self.fresh = state.transcript.take()
        self.answer: Any = None
        self.routing: list[Message] | None = None
        """For a node with an inner graph: that graph's output, once it is over."""

    @property
    def address(self) -> str:
        """Where the step is: loops with their rounds, then the node and its visit."""
        visit = f"#{self.visit}" if self.visit > 1 else ""
        return address_of(self.frame, self.round, self.node.name) + visit

    @property
    def rounds(self) -> list[tuple[str, int]]:
        """The loops around the step with their rounds, outermost first."""
        found: list[tuple[str, int]] = []
        frame: Frame | None = self.frame
        count = self.round
        while frame is not None:
            if frame.scope.head is not None:
                found.append((frame.scope.name, count))
            frame = frame.parent
            count = frame.round if frame is not None else 0
        return found[::-1]


def address_of(frame: Frame, round: int, name: str) -> str:
    """The address of something in a round of a frame."""
    parts = [name]
    count = round
    current: Frame | None = frame
    while current is not None:
        if current.scope.head is not None:
            parts.append(f"{current.scope.name}[{count}]")
        elif current.owner is not None:
            parts.append(current.owner.node.name)
        current = current.parent
        count = current.round if current is not None else 0
    return "/".join(reversed(parts))


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
