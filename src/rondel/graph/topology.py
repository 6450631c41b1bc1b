"""Where a graph starts and ends by default, and what it can reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Pair = tuple[str, str]


def entrances(ids: Sequence[str], edges: Iterable[Pair]) -> list[str]:
    """The nodes that no edge enters, in file order."""
    entered = {target for _, target in edges}
    return [node for node in ids if node not in entered]


def sinks(ids: Sequence[str], edges: Iterable[Pair]) -> list[str]:
    """The nodes that no edge leaves, in file order."""
    left = {source for source, _ in edges}
    return [node for node in ids if node not in left]


def unreachable(ids: Sequence[str], triggers: Iterable[Pair], start: Iterable[str]) -> list[str]:
    """The nodes that no way over trigger edges leads to, in file order."""
    after: dict[str, list[str]] = {}
    for source, target in triggers:
        after.setdefault(source, []).append(target)
    reached = set(start)
    todo = list(reached)
    while todo:
        for target in after.get(todo.pop(), ()):
            if target not in reached:
                reached.add(target)
                todo.append(target)
    return [node for node in ids if node not in reached]
