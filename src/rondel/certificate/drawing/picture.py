"""What a drawing shows: nodes, boxes around loops and inner graphs, and arrows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rondel.certificate.certificate import Certificate
from rondel.graph.plan import InnerLoop, Plan, PlanEdge, Scope
from rondel.graph.spec import ALWAYS, Call

LONGEST_LABEL = 30


@dataclass(slots=True, eq=False)
class Shape:
    """A node, or a box with a title around other shapes, which stand on levels."""

    title: str
    kind: str = ""
    node: int | None = None
    """The node that it is, or whose inner graph it shows."""
    is_loop: bool = False
    rows: list[list[Shape]] = field(default_factory=list)

    @property
    def nodes(self) -> Iterator[Shape]:
        """All nodes in it, itself included."""
        work = [self]
        while work:
            shape = work.pop()
            if shape.node is not None:
                yield shape
            work.extend(inner for row in reversed(shape.rows) for inner in reversed(row))


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge between two nodes."""

    source: int
    target: int
    text: str
    triggers: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """All of a graph that a drawing shows."""

    title: str
    whole: Shape
    arrows: tuple[Arrow, ...]


def picture_of(plan: Plan, certificate: Certificate) -> Picture:
    """The picture of a compiled graph."""
    titles: dict[str, str] = {}
    for loop in certificate.loops:
        bound = loop.bound
        rounds = f"{bound.rounds:,} round{'' if bound.rounds == 1 else 's'}"
        titles.setdefault(loop.head, f"{loop.head}: at most {rounds} ({bound.source})")
    whole = Shape(plan.spec.id)
    whole.rows = _rows(plan, plan.root, titles)
    outside = [n.index for n in plan.nodes if n.owner is None and n.index not in plan.root.item_of]
    if outside:
        whole.rows.append([_node(plan, node, titles) for node in outside])
    arrows = tuple(
        Arrow(edge.source, edge.target, _text(edge), edge.trigger) for edge in plan.edges
    )
    return Picture(plan.spec.id, whole, arrows)


def _rows(plan: Plan, scope: Scope, titles: dict[str, str]) -> list[list[Shape]]:
    rows: dict[int, list[Shape]] = {}
    for item, level in zip(scope.items, scope.levels, strict=True):
        shape = (
            _loop(plan, item, titles) if isinstance(item, InnerLoop) else _node(plan, item, titles)
        )
        rows.setdefault(level, []).append(shape)
    return [rows[level] for level in sorted(rows)]


def _node(plan: Plan, node: int, titles: dict[str, str]) -> Shape:
    plan_node = plan.nodes[node]
    shape = Shape(plan_node.name, plan_node.spec.type, node)
    if plan_node.inner is not None:
        shape.rows = _rows(plan, plan_node.inner, titles)
    return shape


def _loop(plan: Plan, group: InnerLoop, titles: dict[str, str]) -> Shape:
    heads = [plan.nodes[head].id for head in group.entries]
    shape = Shape("; ".join(titles[head] for head in heads if head in titles), is_loop=True)
    scope = next((group.scopes[head] for head in group.entries if head in group.scopes), None)
    if scope is None:
        shape.rows = [[_node(plan, node, titles)] for node in group.nodes]
    else:
        shape.rows = _rows(plan, scope, titles)
    return shape


def _text(edge: PlanEdge) -> str:
    parts = [edge.spec.label, _condition(edge.spec.condition)]
    text = " · ".join(part for part in parts if part)
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def _condition(condition: Call) -> str:
    if condition.type == ALWAYS.type:
        return ""
    dump = getattr(condition.config, "model_dump", dict)
    given: dict[str, Any] = dump(exclude_defaults=True) if condition.config is not None else {}
    if not given:
        return condition.type
    if len(given) == 1 and isinstance(only := next(iter(given.values())), str):
        return only
    return ", ".join(f"{key} {_value(value)}" for key, value in given.items())


def _value(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
