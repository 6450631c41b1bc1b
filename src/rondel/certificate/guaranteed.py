"""What the nodes, conditions and edge processes of a plan guarantee."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rondel.engine.protocols import Router
from rondel.graph.guarantees import (
    Calls,
    EdgeGuarantee,
    Guarantee,
    Implying,
    Refusing,
    TellsEdgeGuarantee,
    TellsGuarantee,
    keeps_to,
)
from rondel.graph.plan import CONTRACT_LABELS, Plan, PlanEdge
from rondel.graph.spec import ALWAYS, Call, NodeSpec

NEVER = "false"
"""The type of the condition that no message passes."""

UNPROCESSED = EdgeGuarantee(drops=False, adds=False)

INNER = Guarantee(routes=False, calls=Calls())
"""The guarantee of a node with a graph inside; the graph's own steps are counted separately."""


def guarantee_of(spec: NodeSpec) -> Guarantee:
    """The guarantee of a node."""
    if spec.inner is not None:
        return replace(INNER, emits=spec.inner.dialect.sinks_yield)
    told: Any = spec.config if spec.processor is None else spec.processor
    if keeps_to(told, TellsGuarantee):
        guarantee: Guarantee = told.guarantee()
        return guarantee
    return Guarantee() if spec.processor is None else Guarantee(routes=isinstance(told, Router))


def guarantees_of(plan: Plan) -> list[Guarantee]:
    """The guarantee of each node."""
    fanned = {edge.target for edge in plan.edges if edge.spec.dynamic is not None}
    guarantees = [guarantee_of(node.spec) for node in plan.nodes]
    for node in fanned:
        guarantees[node] = _fanned_out(guarantees[node])
    return guarantees


def _fanned_out(guarantee: Guarantee) -> Guarantee:
    """The guarantee of a node that runs for each part of a message: there may be none, or many."""
    calls = guarantee.calls if guarantee.calls.most == 0 else replace(guarantee.calls, most=None)
    return replace(guarantee, emits=False, guard=None, calls=calls)


def process_guarantee(edge: PlanEdge) -> EdgeGuarantee:
    """The guarantee of the edge's process; without a process nothing is dropped or added."""
    process = edge.spec.process
    if process is None or not edge.carry:
        return UNPROCESSED
    if process.ready is None and keeps_to(process.config, TellsEdgeGuarantee):
        guarantee: EdgeGuarantee = process.config.edge_guarantee()
        return guarantee
    return EdgeGuarantee()


def is_sure(edge: PlanEdge) -> bool:
    """Whether the edge fires for every message that its source sends along it."""
    return edge.trigger and _is_true(edge.spec.condition) and not process_guarantee(edge).drops


def _is_true(condition: Call) -> bool:
    """Whether every message passes."""
    return condition.type == ALWAYS.type


def may_fire(edge: PlanEdge) -> bool:
    """Whether some message may make the edge fire."""
    return edge.trigger and not _is_false(edge.spec.condition)


def _is_false(condition: Call) -> bool:
    """Whether no message passes."""
    if condition.type == NEVER:
        return True
    if condition.ready is not None or not keeps_to(condition.config, Refusing):
        return False
    return bool(condition.config.never())


def is_contract_way(edge: PlanEdge) -> bool:
    """Whether only a contract takes the edge where it leaves a loop."""
    return edge.trigger and edge.spec.label in CONTRACT_LABELS


def implies(one: Call, other: Call) -> bool:
    """Whether a message that passes the one condition surely passes the other."""
    if _is_true(other) or one.type == NEVER:
        return True
    if _is_true(one) or one.ready is not None or other.ready is not None:
        return False
    return keeps_to(one.config, Implying) and bool(one.config.implies(other.config))


def fires_along(edge: PlanEdge, other: PlanEdge) -> bool:
    """Whether the other edge of the same source always fires with this one."""
    if not other.trigger or process_guarantee(other).drops:
        return False
    return implies(edge.spec.condition, other.spec.condition)
