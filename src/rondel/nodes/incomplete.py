"""Incomplete answers (cut off, filtered, empty): they are reported and never handed on."""

from __future__ import annotations

from typing import Any

from rondel.engine.protocols import Context
from rondel.errors import ModelError
from rondel.models.model import FILTERED, ModelAnswer, Request
from rondel.nodes.conversation import part_of

EVENT = "model_incomplete"

LENGTH = "length"


async def tell(ctx: Context, request: Request, answer: ModelAnswer, place: int) -> None:
    """Emit a durable event of it; `place` counts the calls that this answer took."""

    async def fields() -> dict[str, Any]:
        return {
            "finish_reason": answer.finish_reason or "stop",
            "model": answer.usage.model,
            "chars": len(answer.content),
        }

    name = f"incomplete {request.index + 1} try {ctx.attempt}.{place}"
    await ctx.substep(part_of(ctx, request, name), fields, EVENT)


def cut_off(answer: ModelAnswer, who: str) -> ModelError:
    """The error of a step whose model stopped before the answer was complete."""
    reason, chars = answer.finish_reason, len(answer.content)
    told = f" ({answer.refusal})" if answer.refusal else ""
    if reason.lower() == LENGTH and answer.is_empty:
        text = f"{who} used up its tokens before it said anything; raise params.max_tokens"
        return ModelError(text, retryable=False)
    if reason.lower() in FILTERED and answer.is_empty:
        text = f"{who} declined to answer{told}; change the input or the role"
        return ModelError(text, retryable=False)
    remedy = "raise params.max_tokens" if reason.lower() == LENGTH else "change the input"
    text = (
        f"{who} was cut off after {chars:,} characters by {reason!r}{told}; {remedy}, or take such "
        "answers with accept_incomplete: true"
    )
    lasts = reason.lower() == LENGTH or reason.lower() in FILTERED
    return ModelError(text, retryable=not lasts)


def silent(who: str, times: int) -> ModelError:
    """The error of a step whose model says nothing."""
    return ModelError(f"{who} answered nothing, {times} times in a row; change the input or role")
