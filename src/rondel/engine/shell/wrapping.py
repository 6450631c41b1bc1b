"""What is put around a processor: middleware, a timeout, retries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from rondel.engine.protocols import Handler, Lock, Middleware, Outcome, Processor, Selective
from rondel.engine.shell.exits import confined
from rondel.errors import RondelError, StepTimeout
from rondel.graph.plan import PlanNode
from rondel.graph.spec import RetrySpec
from rondel.graph.surrogates import whole

MOST_DOUBLINGS = 32
"""After so many, a wait is longer than any that is allowed."""


def wrapped(processor: Processor, node: PlanNode, middleware: Sequence[Middleware]) -> Handler:
    """The node's processor with all that is around it, the outermost last."""
    call: Handler = processor.process
    for layer in reversed(middleware):
        if not isinstance(layer, Selective) or layer.wraps(node):
            call = _around(layer, call)
    if node.spec.timeout is not None:
        call = _with_timeout(call, node.spec.timeout)
    if node.spec.retry.max_attempts > 1:
        call = _with_retries(call, node.spec.retry)
    return call


def _around(layer: Middleware, call: Handler) -> Handler:
    async def within(ctx: Any) -> Outcome | Lock:
        return await layer.around(ctx, call)

    return within


def _with_timeout(call: Handler, seconds: float) -> Handler:
    async def timed(ctx: Any) -> Outcome | Lock:
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await call(ctx)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise StepTimeout(f"took longer than its timeout of {seconds:g} s") from None

    return timed


def _with_retries(call: Handler, retry: RetrySpec) -> Handler:
    async def retried(ctx: Any) -> Outcome | Lock:
        await ctx.until_due()
        while ctx.failed + 1 < retry.max_attempts:
            try:
                return await call(ctx)
            except BaseException as raised:
                error = confined(raised)
                if not isinstance(error, Exception) or not getattr(error, "retryable", True):
                    raise
                text = describe(error)
            wait = retry.min_wait * 2 ** min(ctx.failed, MOST_DOUBLINGS)
            await ctx.put_off(text, min(wait, retry.max_wait))
        return await call(ctx)

    return retried


def describe(error: BaseException) -> str:
    """An error in one line: Rondel's own as they are, others with their type."""
    text = whole(" ".join(str(error).split()))
    if isinstance(error, RondelError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
