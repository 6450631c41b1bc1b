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

InputMode = Literal["messages", "prompt"]
OUTPUT_TOKENS = 1024
"""What an answer is taken to need where nothing limits it."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A model in a role: every call that a step makes of it goes through here."""

    model: Model
    role: str = ""
    input_mode: InputMode = "messages"
    priced_as: str = ""
    max_tokens: int = OUTPUT_TOKENS

    async def ask(self, ctx: Context, request: Request, agent: str) -> Answer:
        """The model's answer, told in the role, paid for, and streamed as that of `agent`."""

        def emit(chunk: str) -> None:
            ctx.emit("token_stream", {"chunk": chunk, "agent": agent})

        told = replace(request, system=self.role, messages=self._said(request.messages), emit=emit)
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
