"""The edge process `function`: a Python function makes the message anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from rondel.conditions.calling import name_of, refuse_awaitable
from rondel.conditions.function import FunctionConfig, config_for, function_of
from rondel.conditions.names import PROCESSORS
from rondel.engine.message import Message
from rondel.engine.registry import Registry
from rondel.errors import StepFailed


class FunctionProcessConfig(FunctionConfig):
    """The name of a registered Python function of one message."""


class FunctionProcess:
    """What a plain function makes of a message: text, data, a message, or None to drop it."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Message], Any]) -> None:
        self._function = function

    def __call__(self, message: Message) -> Message | None:
        result = self._function(message)
        match result:
            case None | Message():
                return result
            case str():
                return msgspec.structs.replace(message, content=result)
            case dict():
                return msgspec.structs.replace(message, data=dict(result))
        refuse_awaitable(result, self._function, "an edge process")
        raise StepFailed(
            f"the function {name_of(self._function)!r} returned {type(result).__name__}; "
            "an edge process returns text, a dict, a Message, or None to drop the message"
        )


def register(registry: Registry) -> None:
    """Add `function`."""
    registry.process(
        "function",
        config_for(registry, FunctionProcessConfig),
        lambda config, registry: FunctionProcess(function_of(config, registry, PROCESSORS)),
    )
