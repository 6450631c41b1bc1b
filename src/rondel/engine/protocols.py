"""The seams of the engine. Read this file first.

A node type is a `Processor`; it may also be a `Router`. A step hands its processor a
`Context` and gets an `Outcome` back: `Emit`, `Nothing` or `Suspend`. Waiting is a result,
not an exception; private state is a value handed in and out, so the journal has it for free.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, runtime_checkable

import msgspec

from rondel.engine.emit import UNCHANGED as UNCHANGED
from rondel.engine.emit import Emit as Emit
from rondel.engine.message import Message
from rondel.graph.plan import PlanNode


@dataclass(frozen=True, slots=True)
class Recalled:
    """The session's task, and what the node said before in this entry of its loop, oldest first."""

    task: Message | None = None
    own: Sequence[Message] = ()

    @property
    def messages(self) -> list[Message]:
        """All of it, the task first."""
        return [*([] if self.task is None else [self.task]), *self.own]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one call of a language model took.

    `estimated`: nobody reported the tokens, or nothing that can be; they were counted here.
    `finish_reason` says how the answer ended, as far as that is known; `attempt` which of the calls
    for one answer this was, and `request_id` by which name its provider knows it.
    """

    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    duration: float = 0.0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    finish_reason: str = ""
    attempt: int = 1
    request_id: str = ""

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a node that steers a loop says of it.

    `reason` is set when the node ends the loop, and `value` and `threshold` are what that reason
    compares; `goal_met` is None where it has no goal; `score` and `target` say how far a goal
    that is a score was. With `own`, it speaks of rounds that the node made inside itself, not of
    the loop around it.
    """

    reason: str = ""
    goal_met: bool | None = None
    value: float | None = None
    threshold: float | None = None
    own: bool = False
    score: float | None = None
    target: float | None = None


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a suspended step waits for; `deadline` is a time of the session's clock.

    Past the deadline the step is answered with `otherwise`; without that, it fails.
    """

    description: str = ""
    actions: list[str] = []
    deadline: float | None = None
    otherwise: Any = None


class Nothing(msgspec.Struct, frozen=True):
    """The step is done and no edge fires."""

    state: Any = UNCHANGED
    verdict: Verdict | None = None
    report: dict[str, Any] | None = None


class Suspend(msgspec.Struct, frozen=True):
    """The step waits for an answer from outside; it is called again with `ctx.answer` set."""

    question: Question
    state: Any = UNCHANGED


Outcome = Emit | Nothing | Suspend


class Context(Protocol):
    """What a step may know and do."""

    @property
    def messages(self) -> Sequence[Message]:
        """All the node sees, in logical order: what it retained, then what is new."""
        ...

    @property
    def new_messages(self) -> Sequence[Message]:
        """What arrived for this execution."""
        ...

    @property
    def recalled(self) -> Recalled:
        """What the node's type asked to be shown besides: the task, and what the node said."""
        ...

    @property
    def grows(self) -> bool:
        """Whether all that the node sees stays, in its place, when it is called again."""
        ...

    @property
    def text(self) -> str:
        """The text of the new messages, a blank line between them."""
        ...

    @property
    def data(self) -> dict[str, Any]:
        """The merge of its messages' data, later wins; a copy that cannot be changed."""
        ...

    @property
    def state(self) -> Any:
        """The node's private state as its last outcome left it; None at first."""
        ...

    @property
    def node_id(self) -> str: ...

    @property
    def session_id(self) -> str: ...

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the session was started with; not to be changed."""
        ...

    @property
    def round(self) -> int:
        """The round of the innermost loop around the node; 1 outside loops."""
        ...

    @property
    def rounds(self) -> Sequence[tuple[str, int]]:
        """The loops around the node with their rounds, outermost first."""
        ...

    @property
    def address(self) -> str: ...

    @property
    def idempotency_key(self) -> str:
        """The same whenever this step is tried again, also after a crash."""
        ...

    @property
    def attempt(self) -> int:
        """1 at first, more when the step's node is retried."""
        ...

    @property
    def offset(self) -> int:
        """Which run of its step this is, from 0, where a dynamic edge makes several; else 0."""
        ...

    @property
    def rng(self) -> Random:
        """Random numbers that are the same whenever this step is tried again."""
        ...

    @property
    def now(self) -> float:
        """Seconds since the epoch when the step started, as journalled."""
        ...

    @property
    def active_time(self) -> float:
        """Seconds the session has run so far, without the time it waited."""
        ...

    @property
    def answer(self) -> Any:
        """The answer to the step's question, or None if it has not asked one."""
        ...

    def emit(self, event: str, data: dict[str, Any]) -> None:
        """Publish a live event (streamed tokens); it is not journalled."""
        ...

    @property
    def signals(self) -> Mapping[str, Any]:
        """What somebody outside told the session so far, by name, the newest of each."""
        ...

    async def substep(self, name: str, call: Callable[[], Awaitable[Any]], event: str = "") -> Any:
        """What `call` returns, journalled under a name that is unique in this step.

        When the step runs again after a crash, a part that was done is not done again. With
        `event`, what it returns is a JSON object and is told as a durable event of that name.
        Several may be under way at once.
        """
        ...

    async def reserve(self, most: Callable[[], Usage | None]) -> None:
        """Ask for leave before a model call; `charge` ends it.

        `most` tells the most that the call can take, None that nobody knows; a price that nobody
        knows is infinite. It is asked only where there is a budget. The call waits for others in
        flight where the budget may not cover all; where it is spent this does not return: the
        step ends here.
        """
        ...

    @property
    def time_left(self) -> float | None:
        """Seconds until the first budget around the step is late; None if none ever is."""
        ...

    def charge(self, usage: Usage) -> None:
        """Enter one model call into the step's record; it counts even if the step then fails."""
        ...


@runtime_checkable
class Processor(Protocol):
    """A node at work."""

    async def process(self, ctx: Context) -> Outcome: ...


@runtime_checkable
class Immediate(Protocol):
    """A processor that need not wait: called in place, without a coroutine.

    It may still return an awaitable of its outcome where waiting turns out to be needed.
    """

    def process_now(self, ctx: Context) -> Outcome | Awaitable[Outcome]: ...


@runtime_checkable
class Deferred(Protocol):
    """A processor that leaves the waiting to the engine: one coroutine less in every step."""

    def begin(self, ctx: Context) -> Awaitable[Any]:
        """What is to be awaited."""
        ...

    def finish(self, result: Any, ctx: Context) -> Outcome:
        """What that came to."""
        ...


class Exit(Protocol):
    """An outgoing edge as a router sees it."""

    @property
    def label(self) -> str: ...

    @property
    def target(self) -> str: ...


@runtime_checkable
class Router(Protocol):
    """A processor that chooses among its node's edges; it must be pure."""

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        """The edges that may fire, each still subject to its own condition."""
        ...


class Condition(Protocol):
    """Whether an edge fires for one message; `round` is that of the step that sent it."""

    def __call__(self, message: Message, round: int) -> bool: ...


class Until(Protocol):
    """A loop's `until`; true ends it."""

    def __call__(self, data: dict[str, Any], text: str, round: int, value: float | None) -> bool:
        """Whether it holds after a round in which this was said, with this score."""
        ...


class Process(Protocol):
    """What an edge makes of one message; None drops it."""

    def __call__(self, message: Message) -> Message | None: ...


class Split(Protocol):
    """The parts of a message over which a dynamic edge fans its target out."""

    def __call__(self, message: Message) -> Sequence[Message]: ...


class Lock(msgspec.Struct, frozen=True):
    """A middleware's refusal to let the session go on."""

    reason: str
    message: str
    figures: dict[str, Any] = {}


class Note(msgspec.Struct, frozen=True):
    """Something a guard wants told; it is a durable event and changes nothing."""

    event: str
    data: dict[str, Any]
    node: str = ""
    address: str = ""


Handler = Callable[[Context], Awaitable[Outcome | Lock]]


class Middleware(Protocol):
    """Wraps every process call of a session, or those it selects (`Selective`)."""

    async def around(self, ctx: Context, call: Handler) -> Outcome | Lock: ...


@runtime_checkable
class Selective(Protocol):
    """A middleware that wraps only some nodes; the others do not pay for it."""

    def wraps(self, node: PlanNode) -> bool:
        """Whether it is around that node's process calls; asked once, when a graph is bound."""
        ...
