"""The node type `loop_counter`: emits nothing until it has been triggered often enough."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Nothing
from rondel.engine.registry import Registry
from rondel.graph.guarantees import Calls, Guarantee, LoopGuard


class LoopCounterConfig(BaseModel):
    """The limit, the message at the limit, and whether the count starts again then."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_iterations: Annotated[int, Field(strict=True, ge=1)] = 10
    reset_on_emit: bool = Field(default=True, strict=True)
    message: str | None = None

    def guarantee(self) -> Guarantee:
        """It emits at the limit only, along all its edges."""
        guard = LoopGuard("loop_counter {}", self.max_iterations, silent=True)
        return Guarantee(
            routes=False,
            emits=self.max_iterations == 1,
            keys=frozenset({"loop_counter"}),
            passes=False,
            free_text=False,
            calls=Calls(),
            guard=guard,
        )


class LoopCounterProcessor:
    """Counts its executions in the session; it emits at the limit and past it."""

    __slots__ = ("_config", "_text")

    def __init__(self, config: LoopCounterConfig) -> None:
        self._config = config
        self._text = config.message or f"Loop limit reached ({config.max_iterations})"

    async def process(self, ctx: Context) -> Emit | Nothing:
        config = self._config
        count = (ctx.state or 0) + 1
        if count < config.max_iterations:
            return Nothing(count)
        figures = {
            "count": count,
            "max": config.max_iterations,
            "reset_on_emit": config.reset_on_emit,
        }
        message = Message(self._text, {"loop_counter": figures})
        return Emit((message,), 0 if config.reset_on_emit else count)


def register(registry: Registry) -> None:
    """Add `loop_counter`."""
    registry.node(
        "loop_counter", LoopCounterConfig, lambda config, _registry: LoopCounterProcessor(config)
    )
