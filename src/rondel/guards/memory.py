"""The middleware that promotes what some nodes emit, and the rule that memory never fails a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Handler, Lock, Outcome
from rondel.engine.shell.wrapping import describe
from rondel.graph.plan import Plan, PlanNode

MEMORY_ERROR = "memory_error"

T = TypeVar("T")

Promote = Callable[[str, Mapping[str, Any], str, str, Sequence[Message]], object]
"""Puts what a step emitted into its session's group, given session, inputs, address and node.

Doing it twice changes nothing.
"""


class MemoryGuard:
    """Promotes what these nodes emit before their outcome is recorded.

    A step that runs again after a crash promotes again, which replaces its earlier entries.
    """

    def __init__(self, promoted: Collection[str], promote: Promote) -> None:
        """`promoted` are the nodes' public ids."""
        self._promoted = promoted
        self._promote = promote

    def wraps(self, node: PlanNode) -> bool:
        return node.id in self._promoted

    async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
        outcome = await call(ctx)
        if isinstance(outcome, Emit):
            where = (ctx.session_id, ctx.inputs, ctx.address, ctx.node_id)
            promote = partial(self._promote, *where, outcome.messages)
            await attempt(ctx, "promotion", promote)
        return outcome


async def attempt(ctx: Context, part: str, call: Callable[[], T]) -> T | None:
    """The result of the call; None if it fails: then a `memory_error` is recorded, nothing raised.

    It runs in a thread, since a store may wait for other processes. `part` names the sub-step.
    """
    try:
        return await asyncio.to_thread(call)
    except Exception as error:  # whatever a store raises, the run goes on
        await ctx.substep(part, partial(failure_json, error), MEMORY_ERROR)
        return None


def promoted_nodes(plan: Plan) -> frozenset[str]:
    """The public ids of the nodes that their own graph's `memory.promote` names."""
    found = []
    for node in plan.nodes:
        graph = plan.spec if node.owner is None else plan.nodes[node.owner].spec.inner
        if graph is not None and node.name in graph.memory.promote:
            found.append(node.id)
    return frozenset(found)


async def failure_json(error: Exception) -> dict[str, str]:
    """A failure as the event tells it."""
    return {"error": describe(error), "kind": type(error).__name__}
