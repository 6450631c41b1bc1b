"""What a graph's end nodes produced, or why they produced nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from rondel.engine.frame import Frame
from rondel.engine.message import Message
from rondel.graph.plan import Plan, PlanNode

NOBODY: Final[dict[int, None]] = {}
"""What every session begins with, shared by all and never changed."""


@mypyc_attr(acyclic=True)
class Outputs:
    """The newest output of every end node, kept with the entry of its graph."""

    __slots__ = ("stuck",)

    def __init__(self) -> None:
        self.stuck = NOBODY
        """Nodes whose newest messages no edge took."""

    def note(
        self, node: PlanNode, frame: Frame, messages: tuple[Message, ...], *, fired: bool
    ) -> None:
        """A node of the frame emitted these messages, or none.

        It changes nothing where edges fired, no node is stuck, and the node is no end.
        """
        if messages and node.is_end:
            frame.graph_frame().own_outputs()[node.index] = messages
        if messages and not fired and node.out:
            if self.stuck is NOBODY:
                self.stuck = {}
            self.stuck[node.index] = None
        elif self.stuck:
            self.stuck.pop(node.index, None)

    def of(self, frame: Frame) -> Sequence[Message] | None:
        """What the first end node of the graph with output produced, if any did or need not."""
        yields_anything = frame.scope.dialect.sinks_yield
        for end in frame.scope.ends:
            messages = frame.outputs.get(end)
            if messages and (yields_anything or not messages[-1].empty):
                return messages
        return (Message(),) if yields_anything else None

    def why_none(self, frame: Frame, plan: Plan) -> str:
        """Why nothing came out, naming the conditions that held nobody."""
        ends = ", ".join(repr(plan.nodes[end].id) for end in frame.scope.ends)
        text = f"no end node produced output ({ends})"
        edges = [plan.edges[edge].spec for node in self.stuck for edge in plan.nodes[node].out]
        if edges:
            held = ", ".join(f"{e.source} -> {e.target} ({e.condition.type})" for e in edges)
            text += f"; none of these conditions held: {held}"
        return text
