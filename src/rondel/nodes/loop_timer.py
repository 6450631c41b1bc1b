"""The node type `loop_timer`: emits nothing until its time since the first trigger is over."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Nothing
from rondel.engine.registry import Registry
from rondel.graph.guarantees import Calls, Guarantee, LoopGuard
from rondel.nodes.passthrough import passed_on

SECONDS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0}


class LoopTimerConfig(BaseModel):
    """The duration, whether messages pass before, the message at the end, and whether it
    restarts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_duration: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] = 60
    duration_unit: Literal["seconds", "minutes", "hours"] = "seconds"
    reset_on_emit: bool = Field(default=True, strict=True)
    message: str | None = None
    passthrough: bool = Field(default=False, strict=True)

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.max_duration * SECONDS[self.duration_unit]

    def guarantee(self) -> Guarantee:
        """It emits when the time is over, along all its edges."""
        guard = LoopGuard("loop_timer {}", seconds=self.seconds, silent=not self.passthrough)
        return Guarantee(
            routes=False,
            emits=self.passthrough,
            keys=frozenset({"loop_timer"}),
            passes=self.passthrough,
            free_text=False,
            calls=Calls(),
            guard=guard,
        )


class LoopTimerProcessor:
    """Measures the session's running time; it emits at the limit and past it."""

    __slots__ = ("_config", "_limit", "_text")

    def __init__(self, config: LoopTimerConfig) -> None:
        duration = f"{config.max_duration:g} {config.duration_unit}"
        self._config = config
        self._limit = config.seconds
        self._text = config.message or f"Time limit reached ({duration})"

    async def process(self, ctx: Context) -> Emit | Nothing:
        now = ctx.active_time
        first = now if ctx.state is None else ctx.state
        elapsed = now - first
        if elapsed < self._limit:
            return self._below(ctx, first)
        message = Message(self._text, {"loop_timer": self._figures(elapsed)})
        return Emit((message,), None if self._config.reset_on_emit else first)

    def _below(self, ctx: Context, first: float) -> Emit | Nothing:
        if not self._config.passthrough:
            return Nothing(first)
        messages = tuple(passed_on(message) for message in ctx.new_messages)
        return Emit(messages or (Message(),), first)

    def _figures(self, elapsed: float) -> dict[str, object]:
        return {
            "elapsed": elapsed,
            "max": self._limit,
            "reset_on_emit": self._config.reset_on_emit,
        }


def register(registry: Registry) -> None:
    """Add `loop_timer`."""
    registry.node(
        "loop_timer", LoopTimerConfig, lambda config, _registry: LoopTimerProcessor(config)
    )
