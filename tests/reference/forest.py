"""The loop forest: what the loops of a graph are, and what order each scope runs its items in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.reference.document import Edge, Graph

Nodes = frozenset[str]


@dataclass(frozen=True)
class Item:
    """What a scope runs as one thing: a plain node, or a whole inner loop."""

    nodes: Nodes
    is_loop: bool
    level: int
    place: int


@dataclass(frozen=True)
class Scope:
    """The root of a graph (no head) or a loop entered at its head, with its items in order."""

    nodes: Nodes
    head: str | None
    items: tuple[Item, ...]

    @property
    def top_level(self) -> int:
        """The highest level of any item."""
        return max(item.level for item in self.items)


@dataclass(frozen=True)
class PossibleLoop:
    """A loop that some run may enter: its nodes, and the head it is entered at."""

    nodes: Nodes
    head: str
    depth: int


def root_scope(graph: Graph) -> Scope:
    """The scope of all nodes that trigger edges can reach from the start."""
    reached = _reachable(graph.start, _successors(e for e in graph.edges if e.trigger))
    return _scope(graph, frozenset(reached), head=None)


def loop_scope(graph: Graph, nodes: Nodes, head: str) -> Scope:
    """The scope of a loop entered at `head`: the edges into the head are cut."""
    return _scope(graph, nodes, head)


def exit_edges(graph: Graph, nodes: Nodes) -> list[Edge]:
    """The trigger edges that leave a loop, in file order."""
    return [e for e in graph.edges if e.trigger and e.source in nodes and e.target not in nodes]


def possible_loops(graph: Graph) -> list[PossibleLoop]:
    """Every loop that a run may enter, once per head and enclosing structure."""
    return list(_possible_loops(graph, root_scope(graph), set(graph.start), depth=1))


def _possible_loops(
    graph: Graph, scope: Scope, given: set[str], depth: int
) -> Iterator[PossibleLoop]:
    for item in scope.items:
        if not item.is_loop:
            continue
        around = scope.nodes - item.nodes
        entered = {e.target for e in graph.edges if e.trigger and e.source in around} | given
        for head in sorted(entered & item.nodes):
            yield PossibleLoop(item.nodes, head, depth)
            yield from _possible_loops(graph, loop_scope(graph, item.nodes, head), set(), depth + 1)


def _scope(graph: Graph, nodes: Nodes, head: str | None) -> Scope:
    inside = [
        e for e in graph.edges if e.source in nodes and e.target in nodes and e.target != head
    ]
    parts = _strongly_connected_parts(nodes, [e for e in inside if e.trigger])
    levels = _levels(parts, _ordering(parts, inside))
    items = [
        Item(
            nodes=part,
            is_loop=_is_loop(part, inside),
            level=levels[part],
            place=min(graph.nodes[node_id].place for node_id in part),
        )
        for part in parts
    ]
    return Scope(nodes, head, tuple(sorted(items, key=lambda i: (i.level, i.is_loop, i.place))))


def _is_loop(part: Nodes, edges: list[Edge]) -> bool:
    return len(part) > 1 or any(
        e.trigger and e.source == e.target and e.source in part for e in edges
    )


def _strongly_connected_parts(nodes: Nodes, trigger_edges: list[Edge]) -> set[Nodes]:
    successors = _successors(trigger_edges)
    reach = {node_id: _reachable([node_id], successors) for node_id in nodes}
    return {frozenset(b for b in reach[a] if a in reach[b]) for a in nodes}


def _ordering(parts: set[Nodes], inside: list[Edge]) -> set[tuple[Nodes, Nodes]]:
    """Which item comes before which: by trigger edges, then by data-only edges where they may."""
    part_of = {node_id: part for part in parts for node_id in part}
    order: set[tuple[Nodes, Nodes]] = set()
    for edge in sorted(inside, key=lambda e: (not e.trigger, e.place)):
        before, after = part_of[edge.source], part_of[edge.target]
        if before != after and not _comes_before(order, after, before):
            order.add((before, after))
    return order


def _comes_before(order: set[tuple[Nodes, Nodes]], first: Nodes, second: Nodes) -> bool:
    return any(a == first and (b == second or _comes_before(order, b, second)) for a, b in order)


def _levels(parts: set[Nodes], order: set[tuple[Nodes, Nodes]]) -> dict[Nodes, int]:
    """The length of the longest path of ordering edges that ends at each item."""

    def level(part: Nodes) -> int:
        return max((level(before) + 1 for before, after in order if after == part), default=0)

    return {part: level(part) for part in parts}


def _successors(edges: Iterable[Edge]) -> dict[str, set[str]]:
    successors: dict[str, set[str]] = {}
    for edge in edges:
        successors.setdefault(edge.source, set()).add(edge.target)
    return successors


def _reachable(origins: Iterable[str], successors: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(origins)
    while waiting:
        node_id = waiting.pop()
        if node_id not in reached:
            reached.add(node_id)
            waiting.extend(successors.get(node_id, ()))
    return reached
