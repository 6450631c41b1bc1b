"""Algorithms on graphs: strong components, order, reach; none is recursive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

Vertex = TypeVar("Vertex", int, str)

Edge = tuple[int, int]

Settles = tuple[tuple[int, int], ...]
"""The items that wait for an item, each with the number of edges that lead to it."""


def strong_components(size: int, successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components of the vertices 0..size-1 (Tarjan, iterative)."""
    index = [-1] * size
    low = [0] * size
    on_stack = [False] * size
    stack: list[int] = []
    components: list[list[int]] = []
    counter = 0
    for root in range(size):
        if index[root] >= 0:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = counter
        counter += 1
        stack.append(root)
        on_stack[root] = True
        while work:
            vertex, targets = work[-1]
            for target in targets:
                if index[target] < 0:
                    index[target] = low[target] = counter
                    counter += 1
                    stack.append(target)
                    on_stack[target] = True
                    work.append((target, iter(successors[target])))
                    break
                if on_stack[target] and index[target] < low[vertex]:
                    low[vertex] = index[target]
            else:
                work.pop()
                if work and low[vertex] < low[work[-1][0]]:
                    low[work[-1][0]] = low[vertex]
                if low[vertex] == index[vertex]:
                    components.append(_unwind(stack, on_stack, vertex))
    return components


def _unwind(stack: list[int], on_stack: list[bool], root: int) -> list[int]:
    component = []
    while True:
        vertex = stack.pop()
        on_stack[vertex] = False
        component.append(vertex)
        if vertex == root:
            return component


class TopologicalOrder:
    """An acyclic order of 0..size-1 that takes further edges one by one (Pearce and Kelly)."""

    def __init__(self, size: int, edges: Sequence[Edge]) -> None:
        self.after: list[list[int]] = [[] for _ in range(size)]
        self._before: list[list[int]] = [[] for _ in range(size)]
        for source, target in edges:
            self._link(source, target)
        self._place = self._kahn(size)

    def add(self, source: int, target: int) -> bool:
        """Order `target` after `source`; False, and nothing changes, if that closes a cycle."""
        if source == target:
            return False
        low, high = self._place[target], self._place[source]
        if high > low:
            forward = self._reach(target, self.after, lambda place: place <= high)
            if source in forward:
                return False
            backward = self._reach(source, self._before, lambda place: place >= low)
            self._reorder(backward, forward)
        self._link(source, target)
        return True

    def levels(self, roots: Sequence[int]) -> list[int]:
        """The longest path to each vertex from the roots; 0 where none leads there."""
        levels = [-1] * len(self._place)
        for root in roots:
            levels[root] = 0
        for vertex in sorted(range(len(levels)), key=self._place.__getitem__):
            if levels[vertex] < 0:
                continue
            for target in self.after[vertex]:
                if levels[target] <= levels[vertex]:
                    levels[target] = levels[vertex] + 1
        return [max(level, 0) for level in levels]

    def _link(self, source: int, target: int) -> None:
        self.after[source].append(target)
        self._before[target].append(source)

    def _kahn(self, size: int) -> list[int]:
        waiting = [len(sources) for sources in self._before]
        order = [vertex for vertex in range(size) if not waiting[vertex]]
        for vertex in order:
            for target in self.after[vertex]:
                waiting[target] -= 1
                if not waiting[target]:
                    order.append(target)
        place = [0] * size
        for position, vertex in enumerate(order):
            place[vertex] = position
        return place

    def _reach(
        self, origin: int, links: list[list[int]], within: Callable[[int], bool]
    ) -> set[int]:
        seen = {origin}
        work = [origin]
        while work:
            for target in links[work.pop()]:
                if target not in seen and within(self._place[target]):
                    seen.add(target)
                    work.append(target)
        return seen

    def _reorder(self, backward: set[int], forward: set[int]) -> None:
        moved = sorted(backward, key=self._place.__getitem__)
        moved += sorted(forward, key=self._place.__getitem__)
        places = sorted(self._place[vertex] for vertex in moved)
        for vertex, place in zip(moved, places, strict=True):
            self._place[vertex] = place


class Ordering(NamedTuple):
    """The order of a scope's items, item by item."""

    levels: tuple[int, ...]
    waits: list[int]
    """For how many edges an item waits."""
    settles: tuple[Settles, ...]


def ordering_of(
    triggers: Sequence[Edge], others: Sequence[Edge], size: int, roots: Sequence[int]
) -> Ordering:
    """The order that triggers give, and every other edge that closes no cycle with those before."""
    order = TopologicalOrder(size, triggers)
    waits = [0] * size
    settles: list[dict[int, int]] = [{} for _ in range(size)]
    for source, target in [*triggers, *(pair for pair in others if order.add(*pair))]:
        waits[target] += 1
        counts = settles[source]
        counts[target] = counts.get(target, 0) + 1
    return Ordering(tuple(order.levels(roots)), waits, tuple([tuple(c.items()) for c in settles]))


def reached(start: Iterable[Vertex], after: Callable[[Vertex], Iterable[Vertex]]) -> set[Vertex]:
    """Everything that can be reached, the start included; `after` tells what comes next."""
    seen = set(start)
    work = list(seen)
    while work:
        for target in after(work.pop()):
            if target not in seen:
                seen.add(target)
                work.append(target)
    return seen
