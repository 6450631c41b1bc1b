"""Entries of scopes that are under way: the graph, inner graphs, and loops in their rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rondel.engine.message import Message
from rondel.engine.protocols import Verdict
from rondel.graph.plan import HEAD, Scope, Wire

if TYPE_CHECKING:
    from rondel.engine.step import Step


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
        "hits",
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
        self.hits: dict[int, dict[int, set[int]]] = {}
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

    @property
    def address(self) -> str:
        """A loop's address with its round."""
        return address_of(self, self.round, "").removesuffix("/")

    def graph_frame(self) -> Frame:
        """The entry of the graph this frame runs in."""
        frame = self
        while frame.scope.head is not None and frame.parent is not None:
            frame = frame.parent
        return frame

    def pull(self, wire: Wire) -> None:
        """An edge of this round fired: trigger its target in the scope where it lands."""
        if not wire.hops and not wire.into_group:
            if wire.item == HEAD:
                self.retriggered = True
            else:
                self.fired[wire.item] += 1
            return
        frame = self
        for _ in range(wire.hops):
            frame.exited = True
            frame = frame.parent  # type: ignore[assignment]
        frame.hit(wire.edge, wire.item, wire.target)

    def pull_out(self, edge: int, target: int) -> None:
        """The loop's contract takes this edge, whoever in the loop it starts from."""
        frame = self
        while target not in frame.scope.item_of and frame.parent is not None:
            frame.exited = True
            frame = frame.parent
        item = HEAD if target == frame.scope.head else frame.scope.item_of[target]
        frame.hit(edge, item, target)

    def hit(self, edge: int, item: int, target: int) -> None:
        """Count an edge for an item, once a round however often it fires."""
        if item == HEAD:
            self.retriggered = True
            return
        hits = self.hits.setdefault(item, {}).setdefault(target, set())
        if edge not in hits:
            hits.add(edge)
            self.fired[item] += 1

    def take_verdict(self, verdict: Verdict, level: int, item: int) -> None:
        """A step judged the loop; of several in a round, the logically last one counts."""
        place = (level, item)
        if verdict.goal_met is not None and place >= self.goal_place:
            self.goal, self.goal_place = verdict.goal_met, place
        if verdict.reason and place >= self.verdict_place:
            self.verdict, self.verdict_place = verdict, place

    def track(self, wires: tuple[Wire, ...], emission: Emission) -> None:
        """Remember what the loops' ways out would carry if a contract ended them now."""
        for wire in wires:
            frame = self
            for _ in range(wire.hops):
                if wire.edge in frame.scope.ways:
                    frame.emitted[wire.edge] = emission
                frame = frame.parent  # type: ignore[assignment]


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
