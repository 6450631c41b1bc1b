"""The graph file of PRODUCT.md section 2, read into plain values and otherwise left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Node:
    """One node as the file gives it, with the defaults filled in."""

    id: str
    type: str
    config: dict[str, Any]
    context_window: int
    join: str
    place: int


@dataclass(frozen=True, eq=False)
class Edge:
    """One edge as the file gives it, with the defaults filled in."""

    source: str
    target: str
    label: str | None
    condition: Any
    trigger: bool
    carry_data: bool
    keep_message: bool
    clear_context: bool
    clear_kept_context: bool
    process: dict[str, Any] | None
    place: int


@dataclass(frozen=True)
class Graph:
    """Nodes, edges, starts, ends and loop contracts of one graph body."""

    nodes: dict[str, Node]
    edges: list[Edge]
    start: list[str]
    end: list[str]
    loops: dict[str, dict[str, Any]]
    max_steps: int
    is_compat: bool = False
    """Whether it runs by the rules of ChatDev (`dialect: chatdev`)."""

    def edges_from(self, node_id: str) -> list[Edge]:
        """The edges out of a node, in file order."""
        return [edge for edge in self.edges if edge.source == node_id]


def read_graph(body: dict[str, Any]) -> Graph:
    """The graph that a parsed `graph:` mapping describes."""
    nodes = [_read_node(raw, place) for place, raw in enumerate(body["nodes"])]
    edges = [_read_edge(raw, place) for place, raw in enumerate(_without_repeats(body["edges"]))]
    targets = {edge.target for edge in edges}
    sources = {edge.source for edge in edges}
    return Graph(
        nodes={node.id: node for node in nodes},
        edges=edges,
        start=_names(body.get("start")) or [n.id for n in nodes if n.id not in targets],
        end=_names(body.get("end")) or [n.id for n in nodes if n.id not in sources],
        loops=body.get("loops") or {},
        max_steps=(body.get("limits") or {}).get("max_steps", 10_000),
        is_compat=body.get("dialect") == "chatdev",
    )


def _read_node(raw: dict[str, Any], place: int) -> Node:
    return Node(
        id=raw["id"],
        type=raw["type"],
        config=raw.get("config") or {},
        context_window=raw.get("context_window", 0),
        join=raw.get("join", "any"),
        place=place,
    )


def _read_edge(raw: dict[str, Any], place: int) -> Edge:
    return Edge(
        source=raw["from"],
        target=raw["to"],
        label=raw.get("label"),
        condition=raw.get("condition", True),
        trigger=raw.get("trigger", True),
        carry_data=raw.get("carry_data", True),
        keep_message=raw.get("keep_message", False),
        clear_context=raw.get("clear_context", False),
        clear_kept_context=raw.get("clear_kept_context", False),
        process=raw.get("process"),
        place=place,
    )


def _without_repeats(raw_edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    edges = [{**vars(_read_edge(raw, 0)), "condition": _condition(raw)} for raw in raw_edges]
    return [raw for place, raw in enumerate(raw_edges) if edges[place] not in edges[:place]]


def _condition(raw: dict[str, Any]) -> Any:
    """The condition, its constants in one spelling."""
    condition = raw.get("condition", True)
    return condition == "true" if condition in ("true", "false") else condition


def _names(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])
