"""One execution of one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mypy_extensions import mypyc_attr

from rondel.engine.core.frame import Frame
from rondel.engine.core.transcript import Transcript
from rondel.engine.message import Message
from rondel.graph.plan import PlanNode


@mypyc_attr(free_list_len=1)
class Step:
    """One execution of one node, from its start until its tick."""

    __slots__ = (
        "answer",
        "attempts",
        "due",
        "earlier",
        "expansion",
        "frame",
        "fresh",
        "group",
        "inputs",
        "item",
        "level",
        "node",
        "number",
        "owner",
        "part",
        "parts",
        "private",
        "round",
        "routing",
        "transcript",
        "unexpanded",
        "visit",
    )

    def __init__(
        self,
        number: int,
        node: PlanNode,
        frame: Frame,
        item: int,
        level: int,
        round: int,
        visit: int,
        transcript: Transcript,
        inputs: Sequence[Message] = (),
        fresh: Sequence[Message] = (),
    ) -> None:
        self.number = number
        self.node = node
        self.frame = frame
        self.item = item
        self.level = level
        self.round = round
        self.visit = visit
        self.transcript = transcript
        self.inputs = inputs
        self.fresh = fresh
        self.answer: Any = None
        self.attempts: tuple[str, ...] = ()
        """The errors of those that failed."""
        self.earlier = 0
        """How many attempts failed before the session was taken up again."""
        self.due = 0.0
        """When the next one begins."""
        self.parts: dict[str, Any] | None = None
        """Its durable sub-steps that are done, by name."""
        self.routing: tuple[Message, ...] | None = None
        """For a node with an inner graph, or parts: what it came to, once that is over."""
        self.unexpanded = False
        """Whether somebody has to say over which parts a node with an inner graph runs."""
        self.expansion: Any = None  # an Expansion: no compiled class may name it
        """How far it is with its parts, if it runs over some."""
        self.owner: Step | None = None
        """The step whose part this is."""
        self.part = 0
        """Which part of it, from 1; 0 for a step that is none."""
        self.group = 0
        """Its place in its layer."""
        self.private: Any = None
        """For a part: the node's private state as it sees it."""

    @property
    def address(self) -> str:
        """Where the step is: loops with their rounds, then the node and its visit."""
        address = self.frame.path(self.round) + self.node.name
        if self.visit != 1:
            address = f"{address}#{self.visit}"
        return f"{address}({self.part})" if self.part else address

    @property
    def rounds(self) -> list[tuple[str, int]]:
        """The loops around the step with their rounds, outermost first."""
        found: list[tuple[str, int]] = []
        count = self.round
        for frame in self.frame.outward():
            if frame.scope.head is not None:
                found.append((frame.scope.name, count))
            count = 0 if frame.parent is None else frame.parent.round
        return found[::-1]
