"""The loop forest of a plan as a tree of bodies: graphs, and loops entered at one head each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from rondel.graph.plan import NO_CONTRACT, InnerLoop, Plan, Scope
from rondel.graph.spec import DEFAULT_MAX_ROUNDS, GraphSpec, LoopSpec


@dataclass(slots=True, eq=False)
class Body:
    """A graph, or a loop as entered at one head."""

    scope: Scope | None
    """None if the loop has too many heads: then this one is compiled when a run enters there."""
    group: InnerLoop | None = None
    head: int | None = None
    around: Body | None = None
    owner: int | None = None
    """For a graph inside a node, that node."""
    contract: LoopSpec = NO_CONTRACT
    """The contract that the file gives a loop."""
    loops: list[list[Body]] = field(default_factory=list)
    """Every loop directly in it, once for each head."""

    @property
    def inner(self) -> list[Body]:
        """All loops directly in it, whichever head they are entered at."""
        return [loop for heads in self.loops for loop in heads]

    @property
    def cap(self) -> int:
        """The most rounds that the engine allows a loop."""
        declared = self.contract.max_rounds
        return DEFAULT_MAX_ROUNDS if declared is None else declared

    @property
    def plain(self) -> list[int]:
        """The nodes directly in it."""
        if self.scope is None:
            return []
        return [item for item in self.scope.items if isinstance(item, int)]

    @property
    def nodes(self) -> tuple[int, ...]:
        """All nodes in it."""
        if self.group is not None:
            return self.group.nodes
        return () if self.scope is None else self.scope.nodes

    def ways(self, plan: Plan) -> Collection[int]:
        """The edges by which a loop's contract may leave it."""
        if self.scope is not None:
            return self.scope.ways
        out = (index for node in self.nodes for index in plan.nodes[node].out)
        return [index for index in out if plan.edges[index].trigger]


@dataclass(slots=True, eq=False)
class Forest:
    """Every body of a plan: graph by graph, and outer ones first in each."""

    plan: Plan
    graphs: list[list[Body]]

    @property
    def loops(self) -> Iterator[Body]:
        """All loops, outer ones first."""
        return (body for graph in self.graphs for body in graph if body.head is not None)


def forest_of(plan: Plan) -> Forest:
    """The forest of a plan; nothing is compiled that the plan has not compiled already."""
    graphs = [_graph(plan, plan.spec, plan.root, None)]
    for node in plan.nodes:
        if node.inner is not None and node.spec.inner is not None:
            graphs.append(_graph(plan, node.spec.inner, node.inner, node.index))
    return Forest(plan, graphs)


def _graph(plan: Plan, spec: GraphSpec, scope: Scope, owner: int | None) -> list[Body]:
    bodies = [Body(scope, owner=owner)]
    for body in bodies:
        for item in body.scope.items if body.scope is not None else ():
            if isinstance(item, InnerLoop):
                loops = [
                    Body(
                        item.scopes.get(head),
                        item,
                        head,
                        body,
                        contract=spec.loops.get(plan.nodes[head].name, NO_CONTRACT),
                    )
                    for head in item.entries
                ]
                body.loops.append(loops)
                bodies.extend(loops)
    return bodies
