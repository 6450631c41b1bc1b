"""Asks a language model for a step: reserves the budget, streams the answer, records the usage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from rondel.engine.message import TASK, Message, Part
from rondel.engine.protocols import Context, Usage
from rondel.errors import ModelError, StepTimeout
from rondel.graph.surrogates import Joiner, whole, wholly
from rondel.models.metering import checked
from rondel.models.model import FILTERED, Model, ModelAnswer, Request, most_of
from rondel.models.tokens import attached_in_messages
from rondel.nodes.agent_history import remembered
from rondel.nodes.conversation import Conversation, CountedAnswer, Unrecorded, part_of
from rondel.nodes.structured import AnswerSchema
from rondel.nodes.tools import Toolbox

Charge = Callable[[Usage], None]
FALLBACK = "model_fallback"
"""The kind of the recorded error after which the next model is asked."""

INCOMPLETE = "model_incomplete"
"""The event of an answer that was cut off, filtered or empty; such answers are not handed on."""

LENGTH = "length"
"""The finish reason of an answer that used up its tokens."""

InputMode = Literal["messages", "prompt"]
MAX_TOOL_CALLS = 10
EMPTY_ANSWERS = 2
"""How many empty answers a model may give before the step fails."""
CLOCKS_APART = 0.005
"""The most seconds by which the session's clock may be behind the event loop's."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A model with a role; every call that a step makes goes through here."""

    model: Model
    role: str = ""
    input_mode: InputMode = "messages"
    schema: AnswerSchema | None = None
    toolbox: Toolbox | None = None
    max_tool_calls: int = MAX_TOOL_CALLS
    max_tool_rounds: int | None = None
    accept_incomplete: bool = False
    name: str = ""
    fallback: tuple[tuple[str, Model], ...] = ()
    """Further models by their names, asked in this order when those before cannot answer."""

    async def answer(
        self, ctx: Context, request: Request, agent: str, asked: str = ""
    ) -> CountedAnswer:
        """The answer and the number of calls it took; a schema in the request is not checked."""
        if self.toolbox is None and (self.schema is None or request.schema is not None):
            return await self._answer(ctx, request, Stream(ctx, agent))
        talk = self.conversation(ctx, request, agent)
        talk.asked = asked
        return await talk.answer()

    async def ask_quietly(self, ctx: Context, request: Request, agent: str) -> ModelAnswer:
        """The model's answer, without streaming."""
        return (await self._answer(ctx, request, QuietStream(ctx, agent))).answer

    def conversation(self, ctx: Context, request: Request, agent: str) -> Conversation:
        """A conversation that answers the request, with tools and repairs."""
        stream = Stream(ctx, agent)

        async def ask(request: Request) -> ModelAnswer:
            stream.start_over()
            heard = await self._answer(ctx, request, stream)
            talk.silences += heard.silences
            return heard.answer

        schema = self.schema if request.schema is None else None
        limits = self.max_tool_calls, self.max_tool_rounds
        talk = Conversation(ctx, request, agent, ask, self.toolbox, schema, *limits)
        return talk

    async def _answer(self, ctx: Context, request: Request, stream: Stream) -> CountedAnswer:
        """A complete answer from the first model that gives one."""
        asker, first = self, request
        for place, (name, model) in enumerate(self.fallback, 1):
            heard = await asker._tried(ctx, request, stream, place)
            if heard is not None:
                return heard
            stream.start_over()
            key = f"{first.idempotency_key}:model {place + 1}"
            request = replace(first, idempotency_key=key)
            asker = replace(self, model=model, name=name)
        return await asker._whole(ctx, request, stream)

    async def _tried(
        self, ctx: Context, request: Request, stream: Stream, place: int
    ) -> CountedAnswer | None:
        """The model's answer; None if it failed, which is journalled with its usage.

        So a model that has failed is not paid for again when the step runs again after a crash.
        """

        async def tried() -> dict[str, str]:
            charged: list[Usage] = []

            def charge(usage: Usage) -> None:
                charged.append(usage)
                ctx.charge(usage)

            try:
                heard = await self._whole(ctx, request, stream, charge)
            except ModelError as error:
                if not charged:
                    ctx.charge(Usage(self.name, estimated=True, finish_reason="error"))
                return {"error": f"{error}; the next model is asked", "kind": FALLBACK}
            raise Unrecorded(heard)

        part = part_of(ctx, request, f"failed {place}, try {ctx.attempt}")
        try:
            await ctx.substep(part, tried, "error")
        except Unrecorded as answered:
            heard: CountedAnswer = answered.result
            return heard
        return None

    async def _whole(
        self, ctx: Context, request: Request, stream: Stream, charge: Charge | None = None
    ) -> CountedAnswer:
        """A complete answer; the model is asked again when it says nothing."""
        for calls in range(1, EMPTY_ANSWERS + 1):
            answer = await self._call(ctx, request, stream, charge or ctx.charge)
            if not (answer.is_cut_off or answer.is_empty):
                return CountedAnswer(answer, calls, calls - 1)
            await _tell_incomplete(ctx, request, answer, calls)
            if answer.is_cut_off:
                if self.accept_incomplete and not answer.is_empty:
                    return CountedAnswer(answer, calls, calls - 1)
                raise _cut_off(answer, self._who(ctx, answer, stream.agent))
            stream.start_over()
            key = f"{request.idempotency_key}:again"
            request = replace(request, index=request.index + 1, idempotency_key=key)
        raise _silent(self._who(ctx, answer, stream.agent), EMPTY_ANSWERS)

    def _who(self, ctx: Context, answer: ModelAnswer, agent: str) -> str:
        model = f"the model {answer.usage.model!r}" if answer.usage.model else "the model"
        return model if agent == ctx.node_id else f"{model} of the agent {agent!r}"

    async def _call(
        self, ctx: Context, request: Request, stream: Stream, charge: Charge
    ) -> ModelAnswer:
        """One call, within the time that the budgets around the step allow."""
        messages, stable = self._told(request)
        told = replace(
            request,
            system=self.role,
            messages=messages,
            emit=stream.emit,
            think=stream.think,
            waits=stream.waits,
            stable=stable,
        )

        async def leave() -> None:
            await ctx.reserve(lambda: most_of(self.model, told))

        await leave()
        started = time.monotonic()
        asked = replace(told, charge=charge, leave=leave)
        try:
            answer = await _in_time(self.model.answer(asked), ctx.time_left, leave)
        except ModelError:
            stream.start_over()
            raise
        duration = time.monotonic() - started
        answer = replace(answer, content=whole(answer.content), data=wholly(answer.data))
        charge(msgspec.structs.replace(checked(answer, told), duration=duration))
        stream.end()
        return answer

    def _told(self, request: Request) -> tuple[list[Message], int]:
        """All messages for the model, and how many of them stay the same; memory follows the
        task."""
        said = [message for message in request.messages if not message.empty]
        stable = request.stable if len(said) == len(request.messages) else 0
        if self.input_mode != "messages":
            said, stable = as_prompt(said), 0
        memory = remembered(request.data)
        if not memory:
            return said, stable
        first = 1 if said and said[0].source == TASK else 0
        return [*said[:first], *memory, *said[first:]], min(stable, first)


async def _tell_incomplete(ctx: Context, request: Request, answer: ModelAnswer, place: int) -> None:
    """Emit a durable event of it; `place` counts the calls that this answer took."""

    async def fields() -> dict[str, Any]:
        return {
            "finish_reason": answer.finish_reason or "stop",
            "model": answer.usage.model,
            "chars": len(answer.content),
        }

    name = f"incomplete {request.index + 1} try {ctx.attempt}.{place}"
    await ctx.substep(part_of(ctx, request, name), fields, INCOMPLETE)


def _cut_off(answer: ModelAnswer, who: str) -> ModelError:
    """The error of a step whose model stopped before the answer was complete."""
    reason, chars = answer.finish_reason.lower(), len(answer.content)
    told = f" ({answer.refusal})" if answer.refusal else ""
    if reason == LENGTH and answer.is_empty:
        text = f"{who} used up its tokens before it said anything; raise params.max_tokens"
        return ModelError(text, retryable=False)
    if reason in FILTERED and answer.is_empty:
        text = f"{who} declined to answer{told}; change the input or the role"
        return ModelError(text, retryable=False)
    remedy = "raise params.max_tokens" if reason == LENGTH else "change the input"
    text = (
        f"{who} was cut off after {chars:,} characters by {answer.finish_reason!r}{told}; "
        f"{remedy}, or take such answers with accept_incomplete: true"
    )
    return ModelError(text, retryable=reason != LENGTH and reason not in FILTERED)


def _silent(who: str, times: int) -> ModelError:
    """The error of a step whose model says nothing."""
    return ModelError(f"{who} answered nothing, {times} times in a row; change the input or role")


class Stream:
    """Streams the tokens of one agent's answer."""

    __slots__ = ("_ctx", "_heard", "_joiner", "agent")

    def __init__(self, ctx: Context, agent: str) -> None:
        self._ctx = ctx
        self.agent = agent
        self._heard = False
        self._joiner = Joiner()

    def emit(self, chunk: str) -> None:
        """Hand on a piece; an empty one makes what came before it void."""
        if not chunk:
            self._joiner.end()
            self._hand_on("")
        elif text := self._joiner.add(chunk):
            self._hand_on(text)

    def think(self, chunk: str) -> None:
        """Hand on a piece of what the model thinks before it answers."""
        data = {"chunk": whole(chunk), "agent": self.agent}
        self._ctx.emit("thinking_stream", data)

    def waits(self, seconds: float, why: str) -> None:
        """Tell that nobody is asked for a while."""
        data = {"seconds": round(seconds, 1), "reason": whole(why), "agent": self.agent}
        self._ctx.emit("model_waiting", data)

    def end(self) -> None:
        """The answer is over."""
        if text := self._joiner.end():
            self._hand_on(text)

    def _hand_on(self, text: str) -> None:
        self._heard = bool(text)
        self._ctx.emit("token_stream", {"chunk": text, "agent": self.agent})

    def start_over(self) -> None:
        """Another answer follows and replaces what was streamed."""
        if self._heard:
            self.emit("")


class QuietStream(Stream):
    """A stream that shows nothing to anybody."""

    __slots__ = ()

    def emit(self, chunk: str) -> None:
        """Show nothing."""

    def think(self, chunk: str) -> None:
        """Show nothing."""


def as_prompt(messages: Sequence[Message]) -> list[Message]:
    """All messages as one user message; with several, each has its source as a heading."""
    if not messages:
        return []
    if len(messages) == 1:
        text = messages[0].readable
    else:
        text = "\n\n".join(
            f"=== {message.source} ({message.role}) ===\n{message.readable}" for message in messages
        )
    return [with_attachments(Message(text, role="user"), messages)]


def with_attachments(prompt: Message, messages: Sequence[Message]) -> Message:
    """A text message with the attachments of other messages, each file once."""
    attached = {part.attachment: part for part in attached_in_messages(messages)}
    if not attached:
        return prompt
    text = [Part(prompt.text)] if prompt.text else []
    return msgspec.structs.replace(prompt, content=[*text, *attached.values()])


async def _in_time(
    answering: Awaitable[ModelAnswer], left: float | None, leave: Callable[[], Awaitable[None]]
) -> ModelAnswer:
    """The answer; fails if the time of a budget is up before it comes."""
    deadline = asyncio.timeout(None if left is None else max(left, 0.0) + CLOCKS_APART)
    try:
        async with deadline:
            return await answering
    except TimeoutError:
        if not deadline.expired():
            raise
    await leave()
    raise StepTimeout("took longer than the budgets around it allow")
