"""What the nodes, conditions and edge processes of a plan promise."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rondel.engine.protocols import Router
from rondel.graph.plan import CONTRACT_LABELS, Plan, PlanEdge
from rondel.graph.promises import (
    Calls,
    EdgePromise,
    EdgePromising,
    Implying,
    Promise,
    Promising,
    Refusing,
    keeps_to,
)
from rondel.graph.spec import ALWAYS, Call, NodeSpec

NEVER = "false"
"""The type of the condition that nothing passes."""

UNPROCESSED = EdgePromise(drops=False, adds=False)

INNER = Promise(routes=False, calls=Calls())
"""A node with a graph inside it: what that graph does is counted there."""


def promise_of(spec: NodeSpec) -> Promise:
    """What a node keeps to."""
    if spec.inner is not None:
        return replace(INNER, emits=spec.inner.dialect.sinks_yield)
    told: Any = spec.config if spec.processor is None else spec.processor
    if keeps_to(told, Promising):
        promise: Promise = told.promise()
        return promise
    return Promise() if spec.processor is None else Promise(routes=isinstance(told, Router))


def promises_of(plan: Plan) -> list[Promise]:
    """What each node keeps to."""
    fanned = {edge.target for edge in plan.edges if edge.spec.dynamic is not None}
    promises = [promise_of(node.spec) for node in plan.nodes]
    for node in fanned:
        promises[node] = _fanned_out(promises[node])
    return promises


def _fanned_out(promise: Promise) -> Promise:
    """What a node keeps to that runs for each part of a message: there may be none, or many."""
    calls = promise.calls if promise.calls.most == 0 else replace(promise.calls, most=None)
    return replace(promise, emits=False, guard=None, calls=calls)


def process_promise(edge: PlanEdge) -> EdgePromise:
    """What the edge's process keeps to; without one nothing is dropped or added."""
    process = edge.spec.process
    if process is None or not edge.carry:
        return UNPROCESSED
    if process.ready is None and keeps_to(process.config, EdgePromising):
        promise: EdgePromise = process.config.edge_promise()
        return promise
    return EdgePromise()


def is_sure(edge: PlanEdge) -> bool:
    """Whether the edge fires for every message that its source sends along it."""
    return edge.trigger and is_true(edge.spec.condition) and not process_promise(edge).drops


def is_true(condition: Call) -> bool:
    """Whether every message passes."""
    return condition.type == ALWAYS.type


def may_fire(edge: PlanEdge) -> bool:
    """Whether some message may make the edge fire."""
    return edge.trigger and not is_false(edge.spec.condition)


def is_false(condition: Call) -> bool:
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
    if is_true(other) or one.type == NEVER:
        return True
    if is_true(one) or one.ready is not None or other.ready is not None:
        return False
    return keeps_to(one.config, Implying) and bool(one.config.implies(other.config))


def fires_along(edge: PlanEdge, other: PlanEdge) -> bool:
    """Whether the other edge of the same source, if it does not choose, fires with this one."""
    if not other.trigger or process_promise(other).drops:
        return False
    return implies(edge.spec.condition, other.spec.condition)
