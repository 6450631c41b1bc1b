"""Where data can come from: which nodes may send a message with a certain key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rondel.certificate.guaranteed import process_guarantee
from rondel.graph.guarantees import Guarantee
from rondel.graph.plan import Plan

Gives = Callable[[Guarantee], bool]
"""Whether a node with this guarantee may write the thing itself."""


class Flow:
    """Which nodes may receive data that some nodes, or the session's inputs, may contain."""

    def __init__(self, plan: Plan, guarantees: Sequence[Guarantee], gives: Gives) -> None:
        self._plan = plan
        self._guarantees = guarantees
        self._heard: dict[int, str] = {}
        """For each node, where the thing it receives may come from."""
        self._said: dict[int, str] = {}
        self._follow(gives)

    def source(self, node: int) -> str | None:
        """Where the thing that the node receives may come from; None if it cannot receive it."""
        return self._heard.get(node)

    def says(self, node: int) -> bool:
        """Whether the node may emit it, written by itself or handed on."""
        return node in self._said

    def _follow(self, gives: Gives) -> None:
        plan = self._plan
        work: list[int] = []
        for each, guarantee in zip(plan.nodes, self._guarantees, strict=True):
            if each.inner is None and gives(guarantee):
                self._say(each.index, repr(each.id), work)
        for start in plan.root.starts:
            self._hear(start, "the session's inputs", work)
        for edge in plan.edges:
            if edge.carry and process_guarantee(edge).adds:
                named = f"the edge from {edge.spec.source!r} to {edge.spec.target!r}"
                self._hear(edge.target, named, work)
        while work:
            node = work.pop()
            for index in plan.nodes[node].out:
                if plan.edges[index].carry:
                    self._hear(plan.edges[index].target, self._said[node], work)

    def _hear(self, node: int, source: str, work: list[int]) -> None:
        if node in self._heard:
            return
        self._heard[node] = source
        inner = self._plan.nodes[node].inner
        if inner is not None:
            for start in inner.starts:
                self._hear(start, source, work)
        elif self._guarantees[node].passes:
            self._say(node, source, work)

    def _say(self, node: int, source: str, work: list[int]) -> None:
        if node in self._said:
            return
        self._said[node] = source
        work.append(node)
        owner = self._plan.nodes[node].owner
        if owner is not None:
            inner = self._plan.nodes[owner].inner
            if inner is not None and node in inner.ends:
                self._say(owner, source, work)


def gives_key(key: str) -> Gives:
    """Whether a node may emit data with that key."""

    def gives(guarantee: Guarantee) -> bool:
        if guarantee.says is not None:
            return any(key in data for data, _ in guarantee.says)
        return guarantee.keys is None or key in guarantee.keys

    return gives
