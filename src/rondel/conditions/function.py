"""The condition `function`: a Python function decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from rondel.conditions.calling import FunctionCondition
from rondel.conditions.names import CONDITIONS, registered
from rondel.engine.message import Message
from rondel.engine.registry import Registry

NAMED = "The name of a registered Python function."


class FunctionConfig(BaseModel):
    """The name of a registered Python function, and whether it is given the message or its text."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str = Field(description=NAMED)
    takes: Literal["message", "text"] = Field("message", description="What it is given.")


def function_of(
    config: FunctionConfig, registry: Registry, prefix: str = CONDITIONS
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
    name = Annotated[str, AfterValidator(registered(registry, "function"))]
    field = (name, Field(description=NAMED))
    return create_model(base.__name__, __base__=base, __module__=base.__module__, name=field)


def register(registry: Registry) -> None:
    """Add `function`."""
    registry.condition(
        "function",
        config_for(registry, FunctionConfig),
        lambda config, registry: FunctionCondition(function_of(config, registry)),
    )
