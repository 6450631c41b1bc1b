"""Shortens long contexts: a model sums up what an agent need not read word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.message import TASK, Message
from rondel.engine.protocols import Context
from rondel.models.choice import ModelConfig
from rondel.models.model import Request, is_own
from rondel.models.tokens import count_tokens
from rondel.nodes.asking import Asker, as_prompt

COMPACTED = "context_compacted"
"""The event of a new summary."""

ROLE = (
    "You keep the record of a piece of work that goes in rounds. Sum up what you are given for "
    "whoever goes on with it: what was decided and why, what was tried and failed, facts, names "
    "and figures word for word, what is still open. Leave out pleasantries and what was "
    "superseded. Write in the language of the record, as short as you can without losing any of "
    "this."
)
HEADING = "A summary of the rounds before:"


class SummaryAgentConfig(ModelConfig):
    """The model that writes summaries, and in what role."""

    ours = frozenset({"provider", "role", "fallback"})

    provider: str = "simulated"
    role: str = Field("", description="How it is to sum up; there is a default.")
    fallback: list[ModelConfig] = Field(
        [], description="Models that are asked, in this order, when the first cannot answer."
    )


class CompactConfig(BaseModel):
    """The size from which on a context is shortened, and what is kept of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    over_tokens: Annotated[int, Field(strict=True, ge=1)] = Field(
        description="From how many tokens on what the agent is shown is summed up."
    )
    keep: Annotated[int, Field(strict=True, ge=0)] = Field(
        2, description="How many of the newest rounds it is still shown word for word."
    )
    agent: SummaryAgentConfig | None = Field(
        None, description="Who writes the summary; without it the agent's own model."
    )


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """A summary that stands for the first `messages` messages of a context."""

    text: str = ""
    messages: int = 0
    digest: str = ""
    written: int = 0
    """The number of summaries written so far, including this one."""

    @property
    def note(self) -> Message:
        """The summary as a message for the agent."""
        return Message(f"{HEADING}\n\n{self.text}", role="user", source="summary")


@dataclass(frozen=True, slots=True)
class Compactor:
    """Replaces all but the task and the newest rounds by a summary when a context gets too long."""

    asker: Asker
    over_tokens: int
    keep: int

    async def fitted(
        self, ctx: Context, role: str, messages: Sequence[Message], known: Summary
    ) -> tuple[list[Message], Summary]:
        """The messages to show, and the summary among them; a summary of other messages is
        dropped."""
        first = 1 if messages and messages[0].source == TASK else 0
        last = max(len(messages) - len(ctx.new_messages), first)
        task, old, new = messages[:first], messages[first:last], messages[last:]
        if known.digest != _digest(old[: known.messages]):
            known = Summary(written=known.written)
        shown = [*task, *_noted(known), *old[known.messages :], *new]
        end = _older_than(old, self.keep, ctx.node_id)
        length = count_tokens(role) + sum(count_tokens(each.readable) for each in shown)
        if length <= self.over_tokens or end <= known.messages:
            return shown, known

        async def summed_up() -> dict[str, Any]:
            covered = [*task, *_noted(known), *old[known.messages : end]]
            text = await self._written(ctx, covered, known.written)
            return {"summary": text, "messages": end, "tokens": length}

        told = await ctx.substep("compact", summed_up, COMPACTED)
        made = Summary(told["summary"], end, _digest(old[:end]), known.written + 1)
        return [*task, *_noted(made), *old[end:], *new], made

    async def _written(self, ctx: Context, covered: Sequence[Message], index: int) -> str:
        (prompt,) = as_prompt(covered)
        request = Request(
            node_id=ctx.node_id,
            messages=[prompt],
            idempotency_key=f"{ctx.idempotency_key}:compact",
            text=prompt.text,
            index=index,
            round=ctx.round,
            address=ctx.address,
        )
        return (await self.asker.ask_quietly(ctx, request, f"{ctx.node_id} summary")).content


def _noted(summary: Summary) -> list[Message]:
    return [summary.note] if summary.text else []


def _older_than(old: Sequence[Message], keep: int, node: str) -> int:
    """The number of messages before the newest `keep` rounds; the node's own answer ends a
    round."""
    ends = [place for place, message in enumerate(old, 1) if is_own(message, node)]
    return ends[-keep - 1] if len(ends) > keep else 0


def _digest(messages: Sequence[Message]) -> str:
    """A digest that tells these messages from others; empty for no messages."""
    if not messages:
        return ""
    hashed = sha256()
    for message in messages:
        hashed.update(f"{message.source}\0{message.readable}\0\0".encode(errors="replace"))
    return hashed.hexdigest()
