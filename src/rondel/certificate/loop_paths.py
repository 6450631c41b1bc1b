"""Paths through a loop: from its head over trigger edges back to its head."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rondel.certificate.forest import Body
from rondel.certificate.guaranteed import may_fire
from rondel.graph.plan import Plan, PlanEdge

Hop = tuple[int, PlanEdge | None]
"""Where it leads, and the edge that fires; None where a contract fires it, whoever ran."""

Allowed = Callable[[int, PlanEdge], bool]


@dataclass(slots=True, eq=False)
class LoopPaths:
    """What may start what in one round of a loop."""

    plan: Plan
    body: Body
    hops: dict[int, list[Hop]] = field(default_factory=dict)

    def around(self, without: int | None, allowed: Allowed) -> list[int] | None:
        """Some way round that leaves out a node and keeps to the allowed edges, or None.

        Whatever triggers the head again is the end of such a way: a node runs because an edge
        into it fired, and every edge that fires has a source that ran, back to the head. A
        contract that ends an inner loop fires an edge of a node that need not have run, but the
        head of that loop did.
        """
        head = self.body.head
        assert head is not None  # noqa: S101
        if head == without:
            return None
        came: dict[int, int] = {}
        work = [head]
        for node in work:
            for target, edge in self.hops.get(node, ()):
                if edge is not None and not allowed(node, edge):
                    continue
                if target == head:
                    return self._traced(came, node)
                if target not in came and target != without:
                    came[target] = node
                    work.append(target)
        return None

    def _traced(self, came: dict[int, int], node: int) -> list[int]:
        head = self.body.head
        assert head is not None  # noqa: S101
        way = [head, node] if node != head else [head]
        while node != head:
            node = came[node]
            if node != head:
                way.append(node)
        return [head, *reversed(way)]


def paths_of(plan: Plan, body: Body) -> LoopPaths:
    """The paths of a loop that is compiled."""
    inside = set(body.nodes)
    paths = LoopPaths(plan, body, {node: [] for node in inside})
    for node in inside:
        for index in plan.nodes[node].out:
            edge = plan.edges[index]
            if edge.target in inside and may_fire(edge):
                paths.hops[node].append((edge.target, edge))
    for head, index in _forced(plan, body):
        target = plan.edges[index].target
        if target in inside:
            paths.hops[head].append((target, None))
    return paths


def _forced(plan: Plan, body: Body) -> Iterator[tuple[int, int]]:
    """The heads of the loops inside a loop, with the edges that their contracts may fire."""
    work = [loop for loops in body.loops for loop in loops]
    while work:
        loop = work.pop()
        assert loop.head is not None  # noqa: S101
        if loop.scope is not None:
            yield from ((loop.head, edge) for edge in loop.scope.ways)
            work.extend(inner for loops in loop.loops for inner in loops)
        else:
            yield from (
                (loop.head, index)
                for node in loop.nodes
                for index in plan.nodes[node].out
                if plan.edges[index].trigger
            )
