"""The node type `passthrough`: emits its input again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit
from rondel.engine.registry import Registry
from rondel.graph.guarantees import QUIET, Guarantee


class PassthroughConfig(BaseModel):
    """Which messages go on: the last, all, or what most of them say."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    other_names: ClassVar[Collection[str]] = (
        "start",
        "end",
        "begin",
        "finish",
        "input",
        "output",
        "merge",
        "noop",
    )

    only_last_message: bool = Field(default=True, strict=True)
    majority: bool = Field(
        default=False,
        strict=True,
        description="One message goes on: the text that most of them have, else the first's.",
    )

    def guarantee(self) -> Guarantee:
        """It emits its input."""
        return QUIET


def passed_on(message: Message) -> Message:
    """The message as a new one, without where it came from."""
    kept, own_role = message.kept, message.own_role
    return Message(message.content, message.data, message.role, "", kept, own_role)


def most_said(messages: Sequence[Message]) -> Message:
    """The first message whose text most sources end with; empty texts count if all are."""
    last = {message.source: message for message in messages}
    said = [message for message in last.values() if message.text.strip()] or list(last.values())
    times = Counter(message.text for message in said)
    return max(said, key=lambda message: times[message.text])


class PassthroughProcessor:
    """Emits its messages again; an empty one if it has none."""

    __slots__ = ("_majority", "_only_last")

    def __init__(self, config: PassthroughConfig) -> None:
        self._only_last = config.only_last_message
        self._majority = config.majority

    async def process(self, ctx: Context) -> Emit:
        return self.process_now(ctx)

    def process_now(self, ctx: Context) -> Emit:
        """The messages; nothing is awaited."""
        messages = ctx.messages
        if not messages:
            return Emit((Message(),))
        if self._majority:
            return Emit((passed_on(most_said(messages)),))
        if self._only_last:
            return Emit((passed_on(messages[-1]),))
        return Emit(tuple(passed_on(message) for message in messages))


def register(registry: Registry) -> None:
    """Add `passthrough`."""
    registry.node(
        "passthrough", PassthroughConfig, lambda config, _registry: PassthroughProcessor(config)
    )
