"""The loops of a compiled graph, as `rondel check` tells them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rondel.graph.plan import Group, Plan, PlanNode, Scope
from rondel.graph.spec import LoopSpec

CONTRACT = "contract"
DEFAULT = "default"


class LoopFace(msgspec.Struct, frozen=True):
    """One loop: where it is entered, what is in it, and how often it may go round."""

    head: str
    nodes: list[str]
    parent: str | None
    max_rounds: int
    source: str
    """Where the bound comes from: the loop's contract, or the default cap."""


def loops_of(plan: Plan) -> list[LoopFace]:
    """Every loop of a graph and of the graphs inside it, outer ones first."""
    found: dict[tuple[str, str | None, tuple[str, ...]], LoopFace] = {}
    work: list[tuple[Scope, str | None]] = [(plan.root, None)]
    while work:
        scope, parent = work.pop()
        for item in scope.items:
            if isinstance(item, Group):
                for head in item.entries:
                    face = _face(plan, item, head, parent)
                    found.setdefault((face.head, parent, tuple(face.nodes)), face)
                    if head in item.scopes:
                        work.append((item.scopes[head], face.head))
            elif (inner := plan.nodes[item].inner) is not None:
                work.append((inner, parent))
    return list(found.values())


def label_width(loops: list[LoopFace]) -> int:
    """The columns that the longest address of a loop takes, with one digit for each round."""
    parents = {loop.head: loop.parent for loop in loops}
    widths = [0]
    for head in parents:
        width, parent = len(head), parents[head]
        while parent is not None:
            width += len(f"{parent}[1]/")
            parent = parents.get(parent)
        widths.append(width)
    return max(widths)


def _face(plan: Plan, group: Group, head: int, parent: str | None) -> LoopFace:
    node = plan.nodes[head]
    declared = any(loop.max_rounds is not None for loop in _contracts(plan, node))
    return LoopFace(
        head=node.id,
        nodes=[plan.nodes[member].id for member in group.nodes],
        parent=parent,
        max_rounds=group.scope(head).max_rounds,
        source=CONTRACT if declared else DEFAULT,
    )


def _contracts(plan: Plan, head: PlanNode) -> Iterator[LoopSpec]:
    """The contract that the head's own graph gives its loop, if any."""
    owner = plan.nodes[head.owner].spec.inner if head.owner is not None else plan.spec
    if owner is not None and head.name in owner.loops:
        yield owner.loops[head.name]
