"""Calling a Python function as a node."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from types import FunctionType
from typing import Any, Final

from rondel.conditions.calling import name_of
from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Nothing, Outcome, Suspend
from rondel.errors import CallError, StepFailed
from rondel.graph.guarantees import Calls, Guarantee
from rondel.nodes.awaiting import call, call_in_thread, do_now, settle

MESSAGE: Final = Message
"""A constant, so that compiled code does not look up its name."""

NOTHING: Final = Nothing()
"""Returned by a function whose node emits nothing: no edge fires."""


PROMISE: Final = Guarantee(routes=False, authored=False, calls=Calls())
"""The guarantee of a function; nothing is known of model calls that it makes by itself."""


class FunctionProcessor:
    """Awaits a function and emits what it returns.

    Text becomes content, a dict data; a Message, a list of these and an outcome stay as they
    are; None is an empty message.
    """

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Context], Any]) -> None:
        self._function = function

    def guarantee(self) -> Guarantee:
        """It may say anything, along all its edges."""
        return PROMISE

    def process(self, ctx: Context) -> Coroutine[Any, Any, Outcome]:
        """Call the function and wait for what it returns."""
        return call(self._function, self.finish, ctx)

    def finish(self, result: Any, ctx: Context) -> Outcome:
        """The outcome for what the function returned."""
        if type(result) is str:
            return Emit((MESSAGE(result),))
        if type(result) is dict:
            return Emit((MESSAGE("", result.copy()),))
        match result:
            case Emit() | Nothing() | Suspend():
                return result
            case tuple():
                raise StepFailed(
                    f"node {ctx.node_id!r}: the function {name_of(self._function)!r} returned a "
                    "tuple; return a list for several messages, or Message(text, data) for a "
                    "text with its data"
                )
            case list():
                messages = tuple([self._message(item, ctx) for item in result])
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


class AsyncFunctionProcessor(FunctionProcessor):
    """Calls an async function."""

    __slots__ = ("begin",)

    def __init__(self, function: Callable[[Context], Any]) -> None:
        super().__init__(function)
        self.begin: Callable[[Context], Awaitable[Any]] = function
        """The engine calls the function itself, and waits."""


class PlainFunctionProcessor(FunctionProcessor):
    """Calls a function that need not wait."""

    __slots__ = ()

    def process(self, ctx: Context) -> Coroutine[Any, Any, Outcome]:
        """Call the function; should its result have to be awaited, wait for it."""
        return do_now(self.process_now, ctx)

    def process_now(self, ctx: Context) -> Outcome | Awaitable[Outcome]:
        """Call the function in place; should its result have to be awaited, that is handed on."""
        result = self._function(ctx)
        if type(result) is str or type(result) is dict or not inspect.isawaitable(result):
            return self.finish(result, ctx)
        return settle(result, self.finish, ctx)


class BlockingFunctionProcessor(FunctionProcessor):
    """Calls a function that takes its time, in a thread."""

    __slots__ = ()

    def process(self, ctx: Context) -> Coroutine[Any, Any, Outcome]:
        """Call the function in a thread of its own."""
        return call_in_thread(self._function, self.finish, ctx)


def _plainly_takes_one(function: FunctionType) -> bool:
    code, defaults = function.__code__, function.__defaults__
    needed = code.co_argcount - len(defaults or ())
    return needed <= 1 <= code.co_argcount and code.co_kwonlyargcount == 0


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether it can be called with one argument; nobody knows of some that are not Python."""
    if isinstance(function, FunctionType) and _plainly_takes_one(function):
        return True  # a signature takes as much work as the rest of the node
    try:
        inspect.signature(function).bind(None)
    except ValueError:
        return True
    except TypeError:
        return False
    return True


def function_processor(
    function: Callable[[Context], Any], *, blocking: bool = False
) -> FunctionProcessor:
    """A node that calls the function."""
    if not _takes_one(function):
        raise CallError(
            f"the function {name_of(function)!r} of a node must take one argument, its input; "
            f"write it as {name_of(function)}(inp)"
        )
    is_async = inspect.iscoroutinefunction(function)
    if blocking and is_async:
        raise CallError(
            f"the function {name_of(function)!r} is async and needs no thread; drop blocking"
        )
    if blocking:
        return BlockingFunctionProcessor(function)
    return AsyncFunctionProcessor(function) if is_async else PlainFunctionProcessor(function)
