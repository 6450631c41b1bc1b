"""One execution of one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rondel.engine.contexts import NodeState
from rondel.engine.frame import Frame, address_of
from rondel.engine.message import Message
from rondel.graph.plan import PlanNode


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
        "parts",
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
        self.inputs: Sequence[Message] = ()
        self.fresh: Sequence[Message] = ()
        self.answer: Any = None
        self.parts: dict[str, Any] | None = None
        """Its durable sub-steps that are done, by name."""
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
