"""Python functions as nodes, and the node type `function` that names a registered one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic import Field

from rondel.conditions.function import FunctionConfig, config_for, name_of
from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Nothing, Outcome, Suspend
from rondel.engine.registry import Registry
from rondel.errors import CallError, StepFailed
from rondel.graph.promises import Calls, Promise

NOTHING: Final = Nothing()
"""Returned by a function whose node emits nothing: no edge fires."""


PROMISE: Final = Promise(routes=False, calls=Calls())
"""What a function keeps to; model calls that it makes on its own are its own affair."""


class FunctionNodeConfig(FunctionConfig):
    """The name of a registered Python function, and whether it needs a thread of its own."""

    blocking: bool = Field(default=False, strict=True)

    def promise(self) -> Promise:
        """It may say anything, along all its edges."""
        return PROMISE


class FunctionProcessor:
    """Calls a function with the context and emits what it returns.

    Text becomes content, a dict data; a Message, a list of these and an outcome stay as they
    are; None is an empty message.
    """

    __slots__ = ("_blocking", "_function")

    def __init__(self, function: Callable[[Context], Any], blocking: bool = False) -> None:
        if blocking and inspect.iscoroutinefunction(function):
            raise CallError(
                f"the function {name_of(function)!r} is async and needs no thread; drop blocking"
            )
        self._function = function
        self._blocking = blocking

    def promise(self) -> Promise:
        """It may say anything, along all its edges."""
        return PROMISE

    async def process(self, ctx: Context) -> Outcome:
        if self._blocking:
            return await self._settled(await asyncio.to_thread(self._function, ctx), ctx)
        return await self._settled(self._function(ctx), ctx)

    def process_now(self, ctx: Context) -> Outcome | Awaitable[Outcome]:
        """Call a plain function in place; what has to be awaited is handed on."""
        if self._blocking:
            return self.process(ctx)
        result = self._function(ctx)
        if type(result) is str:
            return Emit((Message(result),))
        if type(result) is dict:
            return Emit((Message("", result.copy()),))
        if inspect.isawaitable(result):
            return self._settled(result, ctx)
        return self._outcome(result, ctx)

    async def _settled(self, result: Any, ctx: Context) -> Outcome:
        return self._outcome(await result if inspect.isawaitable(result) else result, ctx)

    def _outcome(self, result: Any, ctx: Context) -> Outcome:
        match result:
            case Emit() | Nothing() | Suspend():
                return result
            case list() | tuple():
                messages = tuple(self._message(item, ctx) for item in result)
                return Emit(messages) if messages else NOTHING
            case _:
                return Emit((self._message(result, ctx),))

    def _message(self, result: Any, ctx: Context) -> Message:
        match result:
            case None:
                return Message()
            case Message():
                return result
            case str():
                return Message(str.__str__(result))
            case dict():
                return Message("", dict(result))
        raise StepFailed(
            f"node {ctx.node_id!r}: the function {name_of(self._function)!r} returned "
            f"{type(result).__name__}; it may return text, a dict, a Message, a list of these, "
            "None or rondel.NOTHING"
        )


def register(registry: Registry) -> None:
    """Add `function`."""
    registry.node(
        "function",
        config_for(registry, FunctionNodeConfig),
        lambda config, registry: FunctionProcessor(
            registry.function_named(config.name), config.blocking
        ),
    )
