"""The order of a scope's items: how many edges each waits for, and which items wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from rondel.graph.components import TopologicalOrder
from rondel.graph.plan import PlanEdge

Settles = tuple[tuple[int, int], ...]
"""The items that wait for an item, each with the number of edges that lead to it."""


class Ordering(NamedTuple):
    """The order of a scope's items, item by item."""

    levels: tuple[int, ...]
    waits: list[int]
    settles: tuple[Settles, ...]


def ordering_of(
    edges: Iterable[PlanEdge], item_of: dict[int, int], size: int, roots: Sequence[int]
) -> Ordering:
    """The order that the edges give; one that only carries data counts if it closes no cycle."""
    triggers: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for edge in sorted(edges, key=attrgetter("index")):
        pair = item_of[edge.source], item_of[edge.target]
        (triggers if edge.trigger else others).append(pair)
    order = TopologicalOrder(size, triggers)
    triggers += [pair for pair in others if order.add(*pair)]
    waits = [0] * size
    settles: list[dict[int, int]] = [{} for _ in range(size)]
    for source, target in triggers:
        waits[target] += 1
        counts = settles[source]
        counts[target] = counts.get(target, 0) + 1
    return Ordering(tuple(order.levels(roots)), waits, tuple([tuple(c.items()) for c in settles]))
