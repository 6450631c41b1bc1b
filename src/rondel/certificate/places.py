"""Problems with their place: where in its file a part of a plan was written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from rondel.errors import Problem
from rondel.graph.plan import Plan
from rondel.graph.spec import GraphSpec, LoopSpec


class Places:
    """File, line and path of nodes, edges and contracts."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        owners = [node.owner for node in plan.nodes]
        self._order = _places(owners)
        """The place of each node in its graph."""
        self._edge_order = _places(owners[edge.source] for edge in plan.edges)
        """The place of each edge in its graph."""

    def node(self, node: int, message: str, hint: str) -> Problem:
        """A problem of a node."""
        plan_node = self._plan.nodes[node]
        path = f"{self._path(plan_node.owner)}.nodes[{self._order[node]}]"
        return self._problem(plan_node.owner, message, hint, path, plan_node.spec.line)

    def edge(self, edge: int, message: str, hint: str) -> Problem:
        """A problem of an edge."""
        plan_edge = self._plan.edges[edge]
        owner = self._plan.nodes[plan_edge.source].owner
        path = f"{self._path(owner)}.edges[{self._edge_order[edge]}]"
        return self._problem(owner, message, hint, path, plan_edge.spec.line)

    def loop(self, head: int, contract: LoopSpec | None, message: str, hint: str) -> Problem:
        """A problem of a loop: at its contract, or else at its head."""
        if contract is None or contract.line is None:
            return self.node(head, message, hint)
        node = self._plan.nodes[head]
        path = f"{self._path(node.owner)}.loops.{node.name}"
        return self._problem(node.owner, message, hint, path, contract.line)

    def _problem(
        self, owner: int | None, message: str, hint: str, path: str, line: int | None
    ) -> Problem:
        return Problem(message, path, hint, self._graph(owner).file, line)

    def _graph(self, owner: int | None) -> GraphSpec:
        inner = None if owner is None else self._plan.nodes[owner].spec.inner
        return self._plan.spec if inner is None else inner

    def _path(self, owner: int | None) -> str:
        """The path of a graph in its file."""
        if owner is None:
            return "graph"
        node = self._plan.nodes[owner]
        if self._graph(owner).file != self._graph(node.owner).file:
            return "graph"
        where: tuple[Any, ...] = getattr(node.spec.config, "inner_graph", tuple)()
        inside = "".join(f".{part}" for part in where[2]) if len(where) > 2 else ".graph"
        return f"{self._path(node.owner)}.nodes[{self._order[owner]}].config{inside}"


def _places(owners: Iterable[int | None]) -> list[int]:
    """Where each of several things stands among those of the same owner."""
    seen: defaultdict[int | None, int] = defaultdict(int)
    places = []
    for owner in owners:
        places.append(seen[owner])
        seen[owner] += 1
    return places
