"""What a graph's end nodes produced, or why they produced nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from rondel.engine.core.frame import Frame
from rondel.engine.message import Message
from rondel.graph.plan import Plan, PlanEdge, PlanNode

NOBODY: Final[dict[int, None]] = {}
"""What every session begins with, shared by all and never changed."""


@mypyc_attr(acyclic=True)
class Outputs:
    """The newest output of every end node, kept with the entry of its graph."""

    __slots__ = ("silent", "stuck")

    def __init__(self) -> None:
        self.stuck = NOBODY
        """Nodes whose newest messages no edge took."""
        self.silent = NOBODY
        """Nodes with a graph inside them whose ends produced nothing, the last time it ran."""

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

    def note_graph(self, node: PlanNode, produced: Sequence[Message] | None) -> None:
        """The graph inside a node is over, with this output or none."""
        if produced:
            if node.index in self.silent:
                del self.silent[node.index]
            return
        if self.silent is NOBODY:
            self.silent = {}
        self.silent[node.index] = None

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
        text = f"no end node produced output ({_named(frame.scope.ends, plan)})"
        for node in self.silent:
            inner = plan.nodes[node].inner
            ends = () if inner is None else inner.ends
            text += f"; nor did the graph in {plan.nodes[node].id!r} ({_named(ends, plan)})"
        edges = [plan.edges[edge] for node in self.stuck for edge in plan.nodes[node].out]
        if edges:
            held = ", ".join([_edge(edge, plan) for edge in edges])
            text += f"; none of these conditions held: {held}"
        return text


def _named(nodes: tuple[int, ...], plan: Plan) -> str:
    return ", ".join([repr(plan.nodes[node].id) for node in nodes])


def _edge(edge: PlanEdge, plan: Plan) -> str:
    source, target = plan.nodes[edge.source].id, plan.nodes[edge.target].id
    return f"{source} -> {target} ({edge.spec.condition.type})"
