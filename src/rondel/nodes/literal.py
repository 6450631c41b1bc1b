"""The node type `literal`: always emits the same text."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit
from rondel.engine.registry import Registry
from rondel.graph.guarantees import NO_KEYS, Calls, Guarantee


class LiteralConfig(BaseModel):
    """The text and the role of its message."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    other_names: ClassVar[Collection[str]] = ("text", "constant", "static")

    content: str = Field(min_length=1)
    role: Literal["user", "assistant", "system"] = "user"

    def guarantee(self) -> Guarantee:
        """It always emits the same text."""
        return Guarantee(
            routes=False,
            emits=True,
            keys=NO_KEYS,
            passes=False,
            free_text=False,
            says=(({}, self.content),),
            calls=Calls(),
        )


class LiteralProcessor:
    """Emits its one message, whatever its input is."""

    __slots__ = ("_content", "_role")

    def __init__(self, config: LiteralConfig) -> None:
        self._content = config.content
        self._role = config.role

    async def process(self, ctx: Context) -> Emit:
        return self.process_now(ctx)

    def process_now(self, ctx: Context) -> Emit:  # noqa: ARG002
        """The message; nothing is awaited."""
        return Emit((Message(self._content, role=self._role, own_role=self._role != "user"),))


def register(registry: Registry) -> None:
    """Add `literal`."""
    registry.node("literal", LiteralConfig, lambda config, _registry: LiteralProcessor(config))
