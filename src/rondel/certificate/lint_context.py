"""A lint, and what it is given to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rondel.certificate.certificate import Certificate
from rondel.certificate.forest import Body, Forest
from rondel.certificate.places import Places
from rondel.engine.registry import Registry
from rondel.errors import Problem
from rondel.graph.guarantees import Guarantee
from rondel.graph.plan import Plan, PlanEdge, Scope


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
