"""Facts of a graph that help to show a run of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rondel.certificate.bounds import DEFAULT
from rondel.certificate.loop_summaries import loops_of
from rondel.graph.plan import Plan
from rondel.graph.spec import BudgetSpec, LoopSpec

UNBOUNDED = BudgetSpec()


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """A loop's bound, goal and budget, where it has them."""

    most: int | None = None
    target: float | None = None
    budget: BudgetSpec = UNBOUNDED


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node's attempts, and the rounds and turns of its debate."""

    attempts: int = 1
    rounds: int = 0
    pairs: int = 0


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The facts of a whole graph."""

    loops: dict[str, LoopFacts] = field(default_factory=dict)
    nodes: dict[str, NodeFacts] = field(default_factory=dict)
    budget: BudgetSpec = UNBOUNDED

    def loop(self, head: str) -> LoopFacts:
        """The facts of a loop."""
        return self.loops.get(head) or LoopFacts()

    def node(self, id: str) -> NodeFacts:
        """The facts of a node."""
        return self.nodes.get(id) or NodeFacts()


def facts_of(plan: Plan) -> GraphFacts:
    """The facts of a compiled graph."""
    contracts = _contracts(plan)
    loops: dict[str, LoopFacts] = {}
    for summary in loops_of(plan):
        contract = contracts.get(summary.head)
        most = None if summary.source == DEFAULT else summary.max_rounds
        target = contract.target if contract else None
        loops[summary.head] = LoopFacts(most, target, contract.budget if contract else UNBOUNDED)
    nodes: dict[str, NodeFacts] = {}
    for node in plan.nodes:
        config = node.spec.config
        pairs = getattr(config, "agent_pairs", None) or ()
        rounds = getattr(config, "max_rounds", 0) if pairs else 0
        nodes[node.id] = NodeFacts(node.spec.retry.max_attempts, rounds, len(pairs))
    return GraphFacts(loops, nodes, plan.spec.limits.budget)


def _contracts(plan: Plan) -> dict[str, LoopSpec]:
    """The contracts of loops by head, including those in subgraphs."""
    contracts: dict[str, LoopSpec] = {}
    for node in plan.nodes:
        graph = plan.spec if node.owner is None else plan.nodes[node.owner].spec.inner
        if graph is not None and node.name in graph.loops:
            contracts[node.id] = graph.loops[node.name]
    return contracts
