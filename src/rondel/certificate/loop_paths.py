"""Paths through a loop: from its head over trigger edges back to its head."""

from __future__ import annotations

from collections.abc import Callable

from rondel.certificate.forest import Body
from rondel.certificate.guaranteed import may_fire
from rondel.graph.plan import Plan, PlanEdge

Hop = tuple[int, PlanEdge | None]
"""The next node and the edge that fires; None for an edge that a contract fires."""

Allowed = Callable[[int, PlanEdge], bool]


class LoopPaths:
    """Which node may start which in one round of a loop that is compiled."""

    def __init__(self, plan: Plan, body: Body) -> None:
        self.body = body
        inside = set(body.nodes)
        self._hops: dict[int, list[Hop]] = {node: [] for node in inside}
        for node in inside:
            for index in plan.nodes[node].out:
                edge = plan.edges[index]
                if edge.target in inside and may_fire(edge):
                    self._hops[node].append((edge.target, edge))
        work = body.inner
        while work:
            loop = work.pop()
            work.extend(loop.inner)
            for index in loop.ways(plan):
                target = plan.edges[index].target
                if loop.head is not None and target in inside:
                    self._hops[loop.head].append((target, None))

    def around(self, without: int | None, allowed: Allowed) -> list[int] | None:
        """A path from the head back to it that avoids a node and uses only allowed edges, or None.

        Every trigger of the head ends such a path: a node runs because an edge into it fired, and
        the source of every edge that fires ran, back to the head. (A contract that ends an inner
        loop may fire the edge of a node that did not run, but the head of that loop ran.)
        """
        head = self.body.head
        assert head is not None  # noqa: S101
        if head == without:
            return None
        came: dict[int, int] = {}
        work = [head]
        for node in work:
            for target, edge in self._hops.get(node, ()):
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
