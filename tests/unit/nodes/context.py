"""A context for one step, with everything a test may want to set."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rondel.engine.message import Message, merged_data
from rondel.engine.protocols import Recalled, Usage


@dataclass
class FakeContext:
    """A `Context` made of plain values; it records what the step emits and charges."""

    new_messages: Sequence[Message] = ()
    retained: Sequence[Message] = ()
    state: Any = None
    node_id: str = "node"
    round: int = 1
    rounds: Sequence[tuple[str, int]] = ()
    address: str = "node[1]"
    idempotency_key: str = "session/node#1"
    attempt: int = 1
    offset: int = 0
    rng: Random = field(default_factory=lambda: Random(1))
    now: float = 1_700_000_000.5
    active_time: float = 0.0
    answer: Any = None
    signals: dict[str, Any] = field(default_factory=dict)
    emitted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    charged: list[Usage] = field(default_factory=list)
    reserved: list[Usage] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    session_id: str = "session"
    inputs: dict[str, Any] = field(default_factory=dict)
    time_left: float | None = None
    grows: bool = False
    recalled: Recalled = field(default_factory=Recalled)

    @property
    def messages(self) -> Sequence[Message]:
        return (*self.retained, *self.new_messages)

    @property
    def text(self) -> str:
        return "\n\n".join(message.text for message in self.new_messages)

    @property
    def data(self) -> dict[str, Any]:
        return merged_data(self.messages)

    async def substep(self, name: str, call: Callable[[], Awaitable[Any]], event: str = "") -> Any:
        self.told.append((name, event))
        return await call()

    async def reserve(self, estimate: Callable[[], Usage]) -> None:
        self.reserved.append(estimate())

    def emit(self, event: str, data: dict[str, Any]) -> None:
        self.emitted.append((event, data))

    def charge(self, usage: Usage) -> None:
        self.charged.append(usage)


def of_text(*texts: str, **values: Any) -> FakeContext:
    """A context with one new message per text."""
    return FakeContext([Message(text, source="from") for text in texts], **values)


def of_data(data: dict[str, Any], **values: Any) -> FakeContext:
    """A context with one new message of data."""
    return FakeContext([Message("text", data, "user", "from")], **values)
