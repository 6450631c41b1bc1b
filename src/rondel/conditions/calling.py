"""A Python function as a condition. Compiled, so it has a file of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from rondel.engine.message import Message
from rondel.errors import StepFailed


class FunctionCondition:
    """Asks a plain function whether a message passes; it may return anything but a text."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Message], Any]) -> None:
        self._function = function

    def __call__(self, message: Message, round: int) -> bool:  # noqa: ARG002
        result = self._function(message)
        if result is True:
            return True
        if result is False:
            return False
        refuse_awaitable(result, self._function, "a condition")
        if result and isinstance(result, str):
            raise StepFailed(
                f"the condition {name_of(self._function)!r} returned {result!r}, a text; "
                "it must say whether the edge fires: return True or False"
            )
        return bool(result)


def refuse_awaitable(result: Any, function: Callable[..., Any], use: str) -> None:
    """Raise if `result` would have to be awaited."""
    if not inspect.isawaitable(result):
        return
    if inspect.iscoroutine(result):
        result.close()
    raise StepFailed(
        f"the function {name_of(function)!r} is async, but {use} must answer at once; "
        "make it a plain function"
    )


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, for errors."""
    name: str = getattr(function, "__name__", type(function).__name__)
    return name
