"""The protocol of language models, their requests and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, PrivateAttr, SecretStr

from rondel.engine.message import Message, Part
from rondel.engine.protocols import Usage
from rondel.graph.json_in_text import objects_in
from rondel.graph.spec import PriceSpec
from rondel.models.redaction import Text


class ProviderConfig(BaseModel):
    """The options of every provider; each adds its own."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    name: str = ""
    base_url: Text | None = None
    api_key: SecretStr | None = None
    params: dict[str, Any] = {}
    _prices: Mapping[str, PriceSpec] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any) -> None:
        """Keep the prices that the graph sets."""
        if context and (prices := context.get("prices")):
            self._prices = prices

    @property
    def context(self) -> dict[str, Any]:
        """The validation context for a config made from this one, so that its prices stay."""
        return {"prices": self._prices}

    @property
    def price(self) -> PriceSpec | None:
        """The price of the model, if the graph sets one."""
        return self._prices.get(self.name)


def _unheard(chunk: str) -> None:
    """The default stream: drops everything."""


def _unpaid(usage: Usage) -> None:
    """The default ledger: drops everything."""


def _unhurried(seconds: float, why: str) -> None:
    """The default for waits: tells nobody."""


async def _free() -> None:
    """The default budget: allows everything."""


INCOMPLETE = frozenset(
    {
        "length",
        "content_filter",
        "error",
        "refusal",
        "insufficient_system_resource",
        "model_context_window_exceeded",
        "guardrail_intervened",
        "network_error",
        "sensitive",
        "pause_turn",
    }
)
"""Finish reasons of incomplete answers; any other is a normal end in the provider's words."""

FILTERED = frozenset({"content_filter", "refusal", "guardrail_intervened", "sensitive"})
"""The finish reasons that mean a refusal."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call; `parameters` is the JSON Schema of its arguments, an object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool by a model; arguments that are not a JSON object are `malformed` text."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    malformed: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the tool call with that id: text and files."""

    id: str
    content: str
    failed: bool = False
    files: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier answer to the same question, what came of its calls, and what was said to it.

    `record` is the answer's own, handed back as it was: some models want to see again what only
    they can read. A turn is JSON through and through, so that a journal can hold it.
    """

    content: str = ""
    calls: Sequence[ToolCall] = ()
    results: Sequence[ToolResult] = ()
    reply: str = ""
    record: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model: what it is told, and where in the session it is asked.

    `index` counts the calls of the node in the session, from 0; `text` and `data` are what the node
    was given; `emit` takes the answer piece by piece while it comes, and an empty piece when the
    answer starts over, so that what came before it is void; `think` takes what the model thinks
    before it answers, of those that tell. A call that is made again, after a crash or for a retry,
    has the same `idempotency_key`; another call has another. `turns` are the exchanges that
    followed `messages`; with the first `stable` of these the node's next call will begin too, so
    that a provider may keep them. `schema` is the JSON Schema that the answer should have; models
    that cannot be told so ignore it. `files` is the content of the attachments in `messages` and
    `turns`, for a model that reads them. A model that asks several times for one answer tells
    `charge` what each attempt took that came to nothing, and waits for `leave` before the next;
    `waits` is told for how many seconds it asks nobody, and why.
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
    think: Callable[[str], None] = _unheard
    charge: Callable[[Usage], None] = _unpaid
    leave: Callable[[], Awaitable[None]] = _free
    waits: Callable[[float, str], None] = _unhurried
    schema: dict[str, Any] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    tools: Sequence[ToolSpec] = ()
    turns: Sequence[Turn] = ()
    stable: int = 0


def is_own(message: Message, node_id: str) -> bool:
    """Whether a message counts as the node's own words.

    It signs with its name in its own graph, which may be a subgraph.
    """
    source = message.source
    said = source == node_id or (bool(source) and node_id.endswith(f"/{source}"))
    return (said or message.own_role) and message.role == "assistant"


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A model's answer: text, tool calls and usage.

    `finish_reason` is why the model stopped, in the provider's word where there is no common one;
    `refusal` is what it said instead of an answer.
    """

    content: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    calls: Sequence[ToolCall] = ()
    record: dict[str, Any] | None = None
    finish_reason: str = ""
    refusal: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it has neither text nor calls."""
        return not (self.content.strip() or self.data or self.calls)

    @property
    def is_cut_off(self) -> bool:
        """Whether the model stopped before its answer was whole."""
        return self.finish_reason.lower() in INCOMPLETE

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Its data, then the JSON objects in its text, from the last one."""
        return [self.data, *reversed(objects_in(self.content))]

    def turn(self, results: Sequence[ToolResult] = (), reply: str = "") -> Turn:
        """This answer as a past turn of the next request."""
        return Turn(self.content, self.calls, results, reply, self.record)


class Files(Protocol):
    """Gives the content of attachments."""

    async def load(self, part: Part) -> bytes: ...


class Model(Protocol):
    """A language model; it raises ModelError when it cannot answer."""

    async def answer(self, request: Request) -> ModelAnswer: ...


@runtime_checkable
class Bounded(Protocol):
    """A model that can tell, before it is asked, the most that an answer will take."""

    def most(self, request: Request) -> Usage | None:
        """The most usage, or None if it is not known; an unknown price is infinite."""
        ...


def most_of(model: Model, request: Request) -> Usage | None:
    """The most usage of the answer to a request, if the model can tell."""
    return model.most(request) if isinstance(model, Bounded) else None
