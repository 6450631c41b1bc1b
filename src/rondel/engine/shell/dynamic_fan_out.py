"""Running a node several times in one step: over the parts of what a dynamic edge brings it.

Each run is a durable sub-step, so a crash repeats only those that were under way, and the results
are in the order of the parts however long each takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from rondel.engine.message import Message, merged_data
from rondel.engine.protocols import (
    UNCHANGED,
    Emit,
    Handler,
    Lock,
    Nothing,
    Outcome,
    Recalled,
    Split,
    Usage,
)
from rondel.engine.shell.context import recalled_by
from rondel.errors import StepFailed
from rondel.graph.spec import DynamicSpec

MAP = "map"


class DynamicFanOut:
    """Calls a node for each part of what came along its dynamic edges, and joins what it says."""

    def __init__(self, call: Handler, edges: Mapping[str, tuple[DynamicSpec, Split]]) -> None:
        """`edges` are the dynamic ones, by the node they come from."""
        self._call = call
        self._edges = edges

    async def __call__(self, ctx: Any) -> Outcome | Lock:
        coming = [message for message in ctx.new_messages if message.source in self._edges]
        if not coming:
            return await self._call(ctx)
        new = set(map(id, coming))
        shared = [message for message in ctx.messages if id(message) not in new]
        run = _Run(ctx, self._call, shared)
        messages: list[Message] = []
        for source in dict.fromkeys(message.source for message in coming):
            dynamic, split = self._edges[source]
            parts = [p for m in coming if m.source == source for p in split(m)]
            messages += await run.over(source, dynamic, parts)
        return Emit(messages, run.state) if messages else Nothing(run.state)


class _Run:
    """The runs of one step."""

    def __init__(self, ctx: Any, call: Handler, shared: Sequence[Message]) -> None:
        self._ctx = ctx
        self._call = call
        self._shared = shared
        self._count = 0
        self.state: Any = UNCHANGED

    async def over(self, source: str, dynamic: DynamicSpec, parts: list[Message]) -> list[Message]:
        if dynamic.mode == MAP:
            return await self._all(f"{source} ", dynamic, [[part] for part in parts])
        layer = 1
        while parts:
            size = dynamic.group_size
            groups = [parts[start : start + size] for start in range(0, len(parts), size)]
            parts = await self._all(f"{source} layer {layer} ", dynamic, groups)
            if len(groups) == 1:
                break
            layer += 1
        return parts

    async def _all(
        self, name: str, dynamic: DynamicSpec, groups: list[list[Message]]
    ) -> list[Message]:
        """What the node says to each group, in their order, so many at once."""
        gate = asyncio.Semaphore(dynamic.max_parallel)
        first = self._count
        self._count += len(groups)

        async def run(number: int, group: list[Message]) -> list[Message]:
            async with gate:
                part = f"{name}{number + 1}"
                return await self._one(part, first + number, group)

        said = await _together([run(number, group) for number, group in enumerate(groups)])
        return [message for messages in said for message in messages]

    async def _one(self, part: str, offset: int, group: list[Message]) -> list[Message]:
        inner = PartContext(self._ctx, part, offset, [*self._shared, *group], group)

        async def call() -> dict[str, Any]:
            return _recorded(inner, await self._call(inner))

        try:
            kept = await self._ctx.substep(part, call)
        finally:
            if inner.retried:
                self._ctx.retried = [*(self._ctx.retried or ()), *inner.retried]
        if "state" in kept:
            self.state = kept["state"]
        return msgspec.convert(kept["messages"], list[Message])


async def _together(calls: list[Awaitable[list[Message]]]) -> list[list[Message]]:
    """All results in order; when one call fails, the others are stopped before it is raised."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _recorded(ctx: PartContext, outcome: Outcome | Lock) -> dict[str, Any]:
    if not isinstance(outcome, Emit | Nothing):
        raise StepFailed(
            f"node {ctx.node_id!r} waits for somebody outside; a dynamic edge cannot lead to it"
        )
    messages = outcome.messages if isinstance(outcome, Emit) else ()
    kept: dict[str, Any] = {"messages": msgspec.to_builtins(list(messages))}
    if outcome.state is not UNCHANGED:
        kept["state"] = outcome.state
    return kept


class PartContext:
    """The context of one run: it sees its part, and what the step shares among all runs."""

    def __init__(
        self,
        ctx: Any,
        part: str,
        offset: int,
        messages: Sequence[Message],
        new_messages: Sequence[Message],
    ) -> None:
        self._ctx = ctx
        self._part = part
        self.offset = offset
        self.messages = messages
        self.new_messages = new_messages
        self.retried: list[str] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    @property
    def grows(self) -> bool:
        return False

    @property
    def recalled(self) -> Recalled:
        return recalled_by(self._ctx.step, self.messages, self._ctx.inputs)

    @property
    def text(self) -> str:
        return "\n\n".join(filter(None, (message.readable for message in self.new_messages)))

    @property
    def data(self) -> dict[str, Any]:
        return merged_data(self.messages)

    @property
    def idempotency_key(self) -> str:
        return f"{self._ctx.idempotency_key}:{self._part}"

    @property
    def rng(self) -> Random:
        return Random(self.idempotency_key)  # noqa: S311

    @property
    def attempt(self) -> int:
        begun: int = self._ctx.attempt
        return begun + self.failed

    @property
    def failed(self) -> int:
        return 0 if self.retried is None else len(self.retried)

    async def put_off(self, error: str, wait: float) -> None:
        self.retried = [*(self.retried or ()), error]
        await asyncio.sleep(wait)

    async def until_due(self) -> None:
        """Parts begin anew in a new process."""

    async def substep(self, name: str, call: Callable[[], Awaitable[Any]], event: str = "") -> Any:
        return await self._ctx.substep(f"{self._part}: {name}", call, event)

    async def reserve(self, most: Callable[[], Usage | None]) -> None:
        await self._ctx.reserve(most)
