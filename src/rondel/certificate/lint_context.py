"""A lint, what it is given to look at, and the place of what it finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rondel.certificate.certificate import Certificate
from rondel.certificate.forest import Body, Forest
from rondel.engine.registry import Registry
from rondel.errors import Problem
from rondel.graph.guarantees import Guarantee
from rondel.graph.plan import Plan, PlanEdge, Scope
from rondel.graph.spec import GraphSpec


@dataclass(frozen=True, slots=True)
class Lint:
    """A finding: something that is allowed but probably not meant."""

    code: str
    problem: Problem

    @property
    def warning(self) -> Problem:
        """The problem, with the lint's name in its message."""
        return replace(self.problem, message=f"{self.problem.message} [{self.code}]")


@dataclass(frozen=True, slots=True)
class LintContext:
    """A plan with everything that is known of it before it runs."""

    plan: Plan
    forest: Forest
    guarantees: Sequence[Guarantee]
    certificate: Certificate
    registry: Registry
    places: Places

    @property
    def loops(self) -> Iterator[tuple[Body, Scope, int]]:
        """Every compiled loop with its scope and its head."""
        for body in self.forest.loops:
            if body.scope is not None and body.head is not None:
                yield body, body.scope, body.head

    def name(self, node: int) -> str:
        """A node's public name, quoted."""
        return repr(self.plan.nodes[node].id)

    def edge_name(self, edge: PlanEdge) -> str:
        """An edge by its ends."""
        return f"{edge.spec.source} -> {edge.spec.target}"

    def out(self, node: int) -> list[PlanEdge]:
        """The edges out of a node, in file order."""
        return [self.plan.edges[index] for index in self.plan.nodes[node].out]

    def into(self, node: int) -> list[PlanEdge]:
        """The edges into a node, in file order."""
        return [self.plan.edges[index] for index in self.plan.nodes[node].into]

    def graph_of(self, node: int) -> Scope:
        """The graph that a node is in."""
        owner = self.plan.nodes[node].owner
        inner = None if owner is None else self.plan.nodes[owner].inner
        return self.plan.root if inner is None else inner

    def never_taken(self, edge: PlanEdge) -> bool:
        """Whether the edge's source never chooses it."""
        alternatives = self.guarantees[edge.source].alternatives
        if alternatives is None:
            return False
        specs = [each.spec for each in self.out(edge.source)]
        return all(spec is not edge.spec for way in alternatives(specs) for spec in way)


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

    def loop(self, body: Body, message: str, hint: str) -> Problem:
        """A problem of a loop: at its contract, or else at its head."""
        assert body.head is not None  # noqa: S101
        if body.contract.line is None:
            return self.node(body.head, message, hint)
        node = self._plan.nodes[body.head]
        path = f"{self._path(node.owner)}.loops.{node.name}"
        return self._problem(node.owner, message, hint, path, body.contract.line)

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
