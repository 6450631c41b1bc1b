"""What a language model is to the nodes that ask it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, PrivateAttr, SecretStr

from rondel.engine.message import Message, Part
from rondel.engine.protocols import Usage
from rondel.graph.spec import Price
from rondel.models.redaction import Text


class ProviderConfig(BaseModel):
    """What every provider takes; its own options come on top."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    name: str = ""
    base_url: Text | None = None
    api_key: SecretStr | None = None
    params: dict[str, Any] = {}
    _prices: Mapping[str, Price] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any) -> None:
        """Keep the prices that the graph around it sets."""
        if context and (prices := context.get("prices")):
            self._prices = prices

    @property
    def context(self) -> dict[str, Any]:
        """What a config made of this one is validated with, so that it costs the same."""
        return {"prices": self._prices}

    @property
    def price(self) -> Price | None:
        """The price of the model, if the graph sets one."""
        return self._prices.get(self.name)


def _unheard(chunk: str) -> None:
    """Nobody listens to the stream."""


def _unpaid(usage: Usage) -> None:
    """Nobody keeps a ledger."""


def _unhurried(seconds: float, why: str) -> None:
    """Nobody is told."""


async def _free() -> None:
    """Nobody keeps a budget."""


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
"""How an answer ends that is not whole; any other word is a provider's own for its end."""

FILTERED = frozenset({"content_filter", "refusal", "guardrail_intervened", "sensitive"})
"""Those of them that say that the model would not answer."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call; `parameters` is the JSON Schema of its arguments, an object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model wants of a tool; arguments that are no JSON object are `malformed` text."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    malformed: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of the call of that id, in text and in files."""

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
    """What a node said itself, or what is put into its mouth.

    It signs with its name in its own graph, which may be a subgraph.
    """
    source = message.source
    said = source == node_id or (bool(source) and node_id.endswith(f"/{source}"))
    return (said or message.own_role) and message.role == "assistant"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, which tools it calls, and what it took.

    `cached_tokens` are those of the input that the provider had already; `usage` counts them too.
    `finish_reason` is why the model stopped, in the provider's word where there is no common one;
    `refusal` is what it said instead of an answer.
    """

    content: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    calls: Sequence[ToolCall] = ()
    cached_tokens: int = 0
    record: dict[str, Any] | None = None
    finish_reason: str = ""
    refusal: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all."""
        return not (self.content.strip() or self.data or self.calls)

    @property
    def is_cut_off(self) -> bool:
        """Whether the model stopped before its answer was whole."""
        return self.finish_reason.lower() in INCOMPLETE

    def turn(self, results: Sequence[ToolResult] = (), reply: str = "") -> Turn:
        """This answer as a past turn of the next request."""
        return Turn(self.content, self.calls, results, reply, self.record)


class Files(Protocol):
    """Where the content of attachments is."""

    async def load(self, part: Part) -> bytes: ...


class Model(Protocol):
    """A language model; it raises ModelError when it cannot answer."""

    async def answer(self, request: Request) -> Answer: ...


@runtime_checkable
class Bounded(Protocol):
    """A model that can tell, before it is asked, the most that an answer will take."""

    def most(self, request: Request) -> Usage | None:
        """The most, or None if that is not known; a price that nobody knows is infinite."""
        ...


def most_of(model: Model, request: Request) -> Usage | None:
    """The most that the answer to a request can take, as far as the model knows."""
    return model.most(request) if isinstance(model, Bounded) else None
