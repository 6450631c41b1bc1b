"""What a language model is to the nodes that ask it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.message import Message
from rondel.engine.protocols import Usage


class ProviderConfig(BaseModel):
    """What every provider takes; its own options come on top."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    base_url: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    params: dict[str, Any] = {}


def _unheard(chunk: str) -> None:
    """Nobody listens to the stream."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model: what it is told, and where in the session it is asked.

    `index` counts the calls of the node in the session, from 0; `text` and `data` are what the
    node was given; `emit` takes the answer piece by piece while it comes. A call that is made
    again, after a crash or for a retry, has the same `idempotency_key`.
    """

    node_id: str
    messages: Sequence[Message]
    system: str = ""
    idempotency_key: str = ""
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    index: int = 0
    round: int = 1
    address: str = ""
    emit: Callable[[str], None] = _unheard


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, and what it took."""

    content: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


class Model(Protocol):
    """A language model; it raises ModelError when it cannot answer."""

    async def answer(self, request: Request) -> Answer: ...
