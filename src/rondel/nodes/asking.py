"""Asking a language model on behalf of a step: leave of the budget, the stream, the bill."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Usage
from rondel.models.model import Answer, Model, Request
from rondel.models.prices import usd
from rondel.models.tokens import count_input
from rondel.nodes.conversation import Conversation, Heard
from rondel.nodes.recollection import remembered
from rondel.nodes.structured import AnswerSchema
from rondel.nodes.tools import Toolbox

InputMode = Literal["messages", "prompt"]
OUTPUT_TOKENS = 1024
"""What an answer is taken to need where nothing limits it."""
MAX_TOOL_CALLS = 10


@dataclass(frozen=True, slots=True)
class Asker:
    """A model in a role: every call that a step makes of it goes through here."""

    model: Model
    role: str = ""
    input_mode: InputMode = "messages"
    priced_as: str = ""
    max_tokens: int = OUTPUT_TOKENS
    schema: AnswerSchema | None = None
    toolbox: Toolbox | None = None
    max_tool_calls: int = MAX_TOOL_CALLS

    async def ask(self, ctx: Context, request: Request, agent: str) -> Answer:
        """The model's answer, told in the role, paid for, and streamed as that of `agent`."""
        return (await self.hear(ctx, request, agent)).answer

    async def hear(self, ctx: Context, request: Request, agent: str) -> Heard:
        """The same, and how many calls it took; a schema of the request's own is not checked."""
        if self.toolbox is None and (self.schema is None or request.schema is not None):
            return Heard(await self._answer(ctx, request, Stream(ctx, agent)))
        return await self.conversation(ctx, request, agent).held()

    def conversation(self, ctx: Context, request: Request, agent: str) -> Conversation:
        """The question with all that it may take to answer it."""
        stream = Stream(ctx, agent)

        async def ask(request: Request) -> Answer:
            stream.start_over()
            return await self._answer(ctx, request, stream)

        schema = self.schema if request.schema is None else None
        return Conversation(ctx, request, agent, ask, self.toolbox, schema, self.max_tool_calls)

    async def _answer(self, ctx: Context, request: Request, stream: Stream) -> Answer:
        """One call."""
        messages = [*remembered(request.data), *self._said(request.messages)]
        told = replace(request, system=self.role, messages=messages, emit=stream.emit)
        await ctx.reserve(lambda: self._estimate(told))
        started = time.monotonic()
        answer = await self.model.answer(told)
        duration = time.monotonic() - started
        ctx.charge(msgspec.structs.replace(answer.usage, duration=duration))
        return answer

    def _said(self, messages: Sequence[Message]) -> Sequence[Message]:
        said = [message for message in messages if not message.empty]
        return said if self.input_mode == "messages" else as_prompt(said)

    def _estimate(self, request: Request) -> Usage:
        tokens = count_input(request), self.max_tokens
        return Usage(self.priced_as, *tokens, usd(self.priced_as, *tokens))


class Stream:
    """The tokens of one agent's answer as they come."""

    __slots__ = ("_agent", "_ctx", "_heard")

    def __init__(self, ctx: Context, agent: str) -> None:
        self._ctx = ctx
        self._agent = agent
        self._heard = False

    def emit(self, chunk: str) -> None:
        """Hand on a piece; an empty one says that what came before it is void."""
        self._heard = bool(chunk)
        self._ctx.emit("token_stream", {"chunk": chunk, "agent": self._agent})

    def start_over(self) -> None:
        """Another answer follows, in the place of what was heard."""
        if self._heard:
            self.emit("")


def output_limit(params: dict[str, Any]) -> int:
    """The most tokens that an answer may have by a model's parameters, or what one may need."""
    limit = params.get("max_tokens")
    return limit if type(limit) is int and limit > 0 else OUTPUT_TOKENS


def as_prompt(messages: Sequence[Message]) -> list[Message]:
    """All messages as one of the user's; several are headed by where they come from."""
    if len(messages) == 1:
        return [Message(messages[0].readable, role="user")]
    parts = (
        f"=== {message.source} ({message.role}) ===\n{message.readable}" for message in messages
    )
    return [Message("\n\n".join(parts), role="user")]
