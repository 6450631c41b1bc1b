"""The node type `memory`: what the session's group remembers, for those who come after."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit
from rondel.engine.registry import Registry
from rondel.graph.guarantees import Calls, Guarantee
from rondel.graph.moments import to_millisecond
from rondel.guards.memory import attempt
from rondel.journal.store import MemoryEntry
from rondel.journal.working_memory import WorkingMemory
from rondel.nodes.recollection import HISTORY

MEMORY = "memory"


class MemoryConfig(BaseModel):
    """How much it retrieves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(50, strict=True, ge=1, description="The newest that many entries.")

    def guarantee(self) -> Guarantee:
        """It hands its input on, with what is remembered."""
        keys = frozenset({HISTORY})
        return Guarantee(routes=False, emits=True, keys=keys, free_text=False, calls=Calls())


class MemoryProcessor:
    """Passes its last message on, with the group's working memory in its data."""

    __slots__ = ("_limit", "_registry")

    def __init__(self, config: MemoryConfig, registry: Registry) -> None:
        self._limit = config.limit
        self._registry = registry

    async def process(self, ctx: Context) -> Emit:
        memory: WorkingMemory = self._registry.service(MEMORY)
        recall = partial(memory.recall, ctx.session_id, ctx.inputs, ctx.now, self._limit)
        found = await attempt(ctx, "retrieval", recall) or []
        last = ctx.messages[-1] if ctx.messages else Message()
        data = {**last.data, HISTORY: [_face(entry) for entry in reversed(found)]}
        return Emit((Message(last.content, data, last.role, kept=last.kept),))


def _face(entry: MemoryEntry) -> dict[str, Any]:
    return {
        "content": msgspec.to_builtins(entry.content),
        "node_id": entry.node_id,
        "session": entry.session,
        "address": entry.address,
        "confidence": entry.confidence,
        "timestamp": to_millisecond(entry.created_at),
    }


def register(registry: Registry) -> None:
    """Add `memory`."""
    registry.node(MEMORY, MemoryConfig, MemoryProcessor)
