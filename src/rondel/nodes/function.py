"""Python functions as nodes, and the node type `function` that names a registered one."""

from __future__ import annotations

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
            from asyncio import to_thread

            result = await to_thread(self._function, ctx)
        else:
            result = self._function(ctx)
        if inspect.isawaitable(result):
            result = await result
        return self._outcome(result, ctx)

    async def _settled(self, result: Awaitable[Any], ctx: Context) -> Outcome:
        return self._outcome(await result, ctx)

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


class PlainFunctionProcessor(FunctionProcessor):
    """Calls a function that need not wait."""

    __slots__ = ()

    def process_now(self, ctx: Context) -> Outcome | Awaitable[Outcome]:
        """Call the function in place; should its result have to be awaited, that is handed on."""
        result = self._function(ctx)
        if result.__class__ is str:
            return Emit((Message(result),))
        if result.__class__ is dict:
            return Emit((Message("", result.copy()),))
        if inspect.isawaitable(result):
            return self._settled(result, ctx)
        return self._outcome(result, ctx)


def function_processor(
    function: Callable[[Context], Any], *, blocking: bool = False
) -> FunctionProcessor:
    """A node that calls the function."""
    if blocking or inspect.iscoroutinefunction(function):
        return FunctionProcessor(function, blocking)
    return PlainFunctionProcessor(function)


def register(registry: Registry) -> None:
    """Add `function`."""
    registry.node(
        "function",
        config_for(registry, FunctionNodeConfig),
        lambda config, registry: function_processor(
            registry.function_named(config.name), blocking=config.blocking
        ),
    )
