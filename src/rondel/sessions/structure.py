"""The structure of a compiled graph as JSON: nodes in logical order, edges, loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from rondel.certificate import certify
from rondel.certificate.loop_summaries import summaries_of
from rondel.graph.plan import InnerLoop, Plan, PlanNode, Scope
from rondel.sessions.graph import Graph

_known: WeakKeyDictionary[Graph, tuple[Plan, dict[str, Any]]] = WeakKeyDictionary()


def structure_of(graph: Graph) -> dict[str, Any]:
    """Nodes, edges and loops of a graph; found once."""
    plan = graph.plan()
    known = _known.get(graph)
    if known is None or known[0] is not plan:
        known = _known[graph] = plan, _structure(graph, plan)
    return known[1]


def _structure(graph: Graph, plan: Plan) -> dict[str, Any]:
    return {
        "nodes": [_node(plan, node, loop) for node, loop in _in_order(plan)],
        "edges": [_edge(plan, index) for index in range(len(plan.edges))],
        "loops": _loops(graph, plan),
        "start": [plan.nodes[start].id for start in plan.root.starts],
        "end": [plan.nodes[end].id for end in plan.root.ends],
    }


def _in_order(plan: Plan) -> Iterator[tuple[PlanNode, str | None]]:
    """Every node in the order of a run, with the head of the loop it is in."""
    stack: list[Iterator[tuple[int | InnerLoop, str | None]]] = [_items(plan.root, None)]
    while stack:
        following = next(stack[-1], None)
        if following is None:
            stack.pop()
            continue
        item, loop = following
        if isinstance(item, InnerLoop):
            head = item.entries[0] if item.entries else item.nodes[0]
            stack.append(_items(item.scope(head), plan.nodes[head].id))
            continue
        node = plan.nodes[item]
        yield node, loop
        if node.inner is not None:
            stack.append(_items(node.inner, loop))


def _items(scope: Scope, loop: str | None) -> Iterator[tuple[int | InnerLoop, str | None]]:
    places = sorted(range(len(scope.items)), key=lambda item: (scope.levels[item], item))
    return iter([(scope.items[place], loop) for place in places])


def _node(plan: Plan, node: PlanNode, loop: str | None) -> dict[str, Any]:
    owner = None if node.owner is None else plan.nodes[node.owner].id
    spec = node.spec
    return {
        "id": node.id,
        "name": node.name,
        "type": spec.type,
        "description": spec.description,
        "loop": loop,
        "inside": owner,
    }


def _edge(plan: Plan, index: int) -> dict[str, Any]:
    edge = plan.edges[index]
    spec = edge.spec
    return {
        "from": plan.nodes[edge.source].id,
        "to": plan.nodes[edge.target].id,
        "label": spec.label,
        "condition": spec.condition.type,
        "trigger": spec.trigger,
    }


def _loops(graph: Graph, plan: Plan) -> list[dict[str, Any]]:
    body = graph.document.get("graph", graph.document)
    contracts = body.get("loops") or {}
    targets = {loop.head: loop.target for loop in plan.spec.loops.values()}
    found = []
    for loop in summaries_of(certify(plan)):
        built: dict[str, Any] = msgspec.to_builtins(loop)
        contract = contracts.get(loop.head)
        built["contract"] = contract if isinstance(contract, dict) else {}
        built["target"] = targets.get(loop.head) or _steered_to(plan, loop.nodes)
        found.append(built)
    return found


def _steered_to(plan: Plan, nodes: list[str]) -> float | None:
    """The score at which a node of the loop ends it, if one does."""
    inside = set(nodes)
    for node in plan.nodes:
        goal = getattr(node.spec.config, "exit_on_score", None)
        if node.id in inside and goal:
            return float(goal)
    return None
