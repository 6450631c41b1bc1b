"""Where in its file something of a plan was written."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from rondel.errors import Problem
from rondel.graph.plan import Plan
from rondel.graph.spec import GraphSpec, LoopSpec


class Places:
    """File, line and path of nodes, edges and contracts."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._order: dict[int, int] = {}
        """By node: its place in its graph."""
        seen: defaultdict[int | None, int] = defaultdict(int)
        for node in plan.nodes:
            self._order[node.index] = seen[node.owner]
            seen[node.owner] += 1

    def node(self, node: int, message: str, hint: str) -> Problem:
        """Something about a node."""
        plan_node = self._plan.nodes[node]
        path = f"{self._path(plan_node.owner)}.nodes[{self._order[node]}]"
        return self._problem(plan_node.owner, message, hint, path, plan_node.spec.line)

    def edge(self, edge: int, message: str, hint: str) -> Problem:
        """Something about an edge."""
        plan_edge = self._plan.edges[edge]
        owner = self._plan.nodes[plan_edge.source].owner
        number = self._graph(owner).edges.index(plan_edge.spec)
        path = f"{self._path(owner)}.edges[{number}]"
        return self._problem(owner, message, hint, path, plan_edge.spec.line)

    def loop(self, head: int, contract: LoopSpec | None, message: str, hint: str) -> Problem:
        """Something about a loop: where its contract is, or else its head."""
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
