"""The condition `function` and the edge process `function`: a Python function decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from rondel.conditions.calling import FunctionCondition, name_of, refuse_awaitable
from rondel.engine.message import Message
from rondel.engine.registry import Registry
from rondel.errors import StepFailed
from rondel.graph.names import Names

CONDITIONS, PROCESSORS = "edge/", "edge_processor/"
"""Prefixes of the names of functions that are only for conditions, or only for processes."""

NAMED = "The name of a registered Python function."


class FunctionConfig(BaseModel):
    """The name of a registered Python function, and whether it is given the message or its text."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str = Field(description=NAMED)
    takes: Literal["message", "text"] = Field("message", description="What it is given.")


class FunctionProcessConfig(FunctionConfig):
    """The name of a registered Python function of one message."""


class FunctionProcess:
    """Applies a function to a message; it returns text, data, a message, or None to drop it."""

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


def function_of(
    config: FunctionConfig, registry: Registry, prefix: str
) -> Callable[[Message], Any]:
    """The function as a function of a message; `prefix` is tried first for one that takes text."""
    if config.takes == "message":
        return registry.function_named(config.name)
    own = f"{prefix}{config.name}"
    known = own in registry.names("function")
    function = registry.function_named(own if known else config.name)

    def of_text(message: Message) -> Any:
        return function(message.text)

    of_text.__name__ = config.name
    return of_text


def config_for(registry: Registry, base: type[FunctionConfig]) -> type[FunctionConfig]:
    """`base`, but its `name` must be a function that `registry` knows."""
    name = Annotated[str, AfterValidator(registered_function(registry))]
    field = (name, Field(description=NAMED))
    return create_model(base.__name__, __base__=base, __module__=base.__module__, name=field)


def registered_function(registry: Registry) -> Callable[[str], str]:
    """A validator that accepts the names of functions that `registry` knows at that moment."""

    def check(name: str) -> str:
        names = Names(registry.names("function"), what="registered")
        if name not in names:
            hint = names.hint(name)
            looked = _looked(registry, guess=hint.startswith("did you mean"))
            raise ValueError(f"there is no function named {name!r}{looked}; {hint}")
        return name

    return check


def _looked(registry: Registry, *, guess: bool) -> str:
    """Where functions are looked for, besides plug-ins; a `guess` may say enough."""
    if places := registry.sources("function"):
        return f" in {' or '.join(places)}"
    return "" if guess else ", and no --functions DIR was given"


def register(registry: Registry) -> None:
    """Add the condition and the edge process."""
    registry.condition(
        "function",
        config_for(registry, FunctionConfig),
        lambda config, registry: FunctionCondition(function_of(config, registry, CONDITIONS)),
    )
    registry.process(
        "function",
        config_for(registry, FunctionProcessConfig),
        lambda config, registry: FunctionProcess(function_of(config, registry, PROCESSORS)),
    )
