"""Finding the parts over which a node runs: of what dynamic edges bring it.

Each run is a step of its own then, journalled, tried again and told like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rondel.engine.protocols import Handler, Lock, Nothing, Outcome, Split
from rondel.engine.ticks import Stage
from rondel.graph.spec import DynamicSpec


@dataclass(frozen=True, slots=True)
class Expand:
    """The step runs its node over parts; without any, the graph in its node is entered."""

    stages: list[Stage]
    shared: list[int]


class DynamicFanOut:
    """Splits what came along the dynamic edges of a node, and leaves what did not to the node."""

    def __init__(
        self, call: Handler | None, edges: Mapping[str, tuple[DynamicSpec, Split]]
    ) -> None:
        """`edges` are the dynamic ones, by the node they come from; no call: it holds a graph."""
        self._call = call
        self._edges = edges

    async def __call__(self, ctx: Any) -> Outcome | Lock | Expand:
        coming = [message for message in ctx.new_messages if message.source in self._edges]
        if ctx.step.part or not coming:
            return Expand([], []) if self._call is None else await self._call(ctx)
        new = set(map(id, coming))
        shared = [place for place, each in enumerate(ctx.messages) if id(each) not in new]
        stages = []
        for source in dict.fromkeys(message.source for message in coming):
            dynamic, split = self._edges[source]
            parts = [p for m in coming if m.source == source for p in split(m)]
            if parts:
                sizes = dynamic.max_parallel, dynamic.group_size
                stages.append(Stage(dynamic.mode, parts, *sizes, self._passes_one(ctx)))
        return Expand(stages, shared) if stages else Nothing()

    @staticmethod
    def _passes_one(ctx: Any) -> bool:
        return bool(ctx.step.frame.scope.dialect.trees_reduce)
