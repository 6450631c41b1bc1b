"""The node type `shout`: says its input louder each time."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from rondel import Context, Emit, Message, Registry


class ShoutConfig(BaseModel):
    """How loud it may get."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    most: int = Field(3, ge=1, description="The most marks.")


class Shout:
    """Counts its calls in private state, which is journalled: a crash does not reset it."""

    def __init__(self, config: ShoutConfig) -> None:
        self._most = config.most

    async def process(self, ctx: Context) -> Emit:
        """The input in capitals, with a mark for each call so far."""
        calls = (ctx.state or 0) + 1
        marks = "!" * min(calls, self._most)
        return Emit([Message(ctx.text.upper() + marks, {"score": 30 * calls})], state=calls)


def register(registry: Registry) -> None:
    """Add `shout`; the entry point in pyproject.toml names this function."""
    registry.node("shout", ShoutConfig, lambda config, _registry: Shout(config))
