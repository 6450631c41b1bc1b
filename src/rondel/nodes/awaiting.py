"""Awaits for compiled node types. Plain Python, because compiled code never awaits."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from rondel.engine.protocols import Context, Outcome
from rondel.errors import StepFailed

Finish = Callable[[Any, Context], Outcome]
"""Makes an outcome of what a function returned."""


async def call(
    function: Callable[[Context], Awaitable[Any]], finish: Finish, ctx: Context
) -> Outcome:
    """Call an async function and wait for what it returns.

    It is not called before somebody waits: a coroutine that nobody awaits is warned of.
    """
    return finish(await function(ctx), ctx)


async def call_in_thread(
    function: Callable[[Context], Any], finish: Finish, ctx: Context
) -> Outcome:
    """Call a function in a thread of its own, and await its result if it is awaitable."""
    from asyncio import to_thread

    def work() -> Any:
        try:
            return function(ctx)
        except StopIteration as error:  # no future can hold this one
            raise StepFailed("StopIteration") from error

    result = await to_thread(work)
    return finish(await result if inspect.isawaitable(result) else result, ctx)


async def settle(result: Awaitable[Any], finish: Finish, ctx: Context) -> Outcome:
    """Await what a function returned."""
    return finish(await result, ctx)


async def do_now(
    process_now: Callable[[Context], Outcome | Awaitable[Outcome]], ctx: Context
) -> Outcome:
    """Call `process_now`, and await its result if it is awaitable."""
    outcome = process_now(ctx)
    return await outcome if isinstance(outcome, Awaitable) else outcome
