"""The straight parts of a scope: an item whose only edge leads to one that waits for nothing else.

Most of a graph is straight. There the next item is known beforehand: no join is to be counted.
"""

from __future__ import annotations

from rondel.graph.plan import HEAD, Group, Scope

Link = tuple[int, int, int]
"""What follows on an item by its only edge: the edge, the next item, and its node."""


def links_in(scope: Scope) -> tuple[Link | None, ...]:
    """By item, the link from it, if it has one."""
    return tuple(_link(scope, item) for item in range(len(scope.items)))


def _link(scope: Scope, item: int) -> Link | None:
    wires, settles = scope.wires[item], scope.settles[item]
    if scope.exit_now or len(wires) != 1 or len(settles) != 1:
        return None
    [wire], [(target, count)] = wires.values(), settles
    delivers = wire.carry and wire.marked is None
    if not (wire.near and delivers) or wire.item in (HEAD, item):
        return None
    node = scope.items[target]
    if target != wire.item or scope.waits[target] != count or isinstance(node, Group):
        return None
    return (wire.edge, target, node) if scope.quorum[target] <= 1 else None
