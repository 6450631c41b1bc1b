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
    """The scope of all nodes that trigger edges can reach from the start; of all, in ChatDev."""
    if graph.is_compat:
        return _scope(graph, frozenset(graph.nodes), None, set(graph.start), data_binds=True)
    reached = _reachable(graph.start, _successors(e for e in graph.edges if e.trigger))
    return _scope(graph, frozenset(reached), None, set(graph.start))


def loop_scope(graph: Graph, nodes: Nodes, head: str) -> Scope:
    """The scope of a loop entered at `head`: the edges into the head are cut."""
    return _scope(graph, nodes, head, {head})


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


def _scope(
    graph: Graph, nodes: Nodes, head: str | None, roots: set[str], data_binds: bool = False
) -> Scope:
    """The items of a scope. In ChatDev, edges that only carry data bind as triggers do in the
    outermost scope (`data_binds`), and order nothing in a loop."""
    inside = [
        e for e in graph.edges if e.source in nodes and e.target in nodes and e.target != head
    ]
    binding = [e for e in inside if e.trigger or data_binds]
    parts = _strongly_connected_parts(nodes, binding)
    order = _ordering(parts, binding if graph.is_compat else inside)
    levels = _levels(parts, order, roots)
    items = [
        Item(
            nodes=part,
            is_loop=_is_loop(part, binding),
            level=levels[part],
            place=min(graph.nodes[node_id].place for node_id in part),
        )
        for part in parts
    ]
    return Scope(nodes, head, tuple(sorted(items, key=lambda i: (i.level, i.is_loop, i.place))))


def _is_loop(part: Nodes, edges: list[Edge]) -> bool:
    return len(part) > 1 or any(e.source == e.target and e.source in part for e in edges)


def _strongly_connected_parts(nodes: Nodes, edges: list[Edge]) -> set[Nodes]:
    successors = _successors(edges)
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


def _levels(
    parts: set[Nodes], order: set[tuple[Nodes, Nodes]], roots: set[str]
) -> dict[Nodes, int]:
    """The length of the longest path of ordering edges from a root to each item; else 0."""

    def level(part: Nodes) -> int:
        """-1: no path leads there."""
        before = [level(one) for one, after in order if after == part]
        longest = max((each + 1 for each in before if each >= 0), default=-1)
        return max(longest, 0) if part & roots else longest

    return {part: max(level(part), 0) for part in parts}


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
