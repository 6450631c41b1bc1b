"""The condition `function`: a Python function decides."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, create_model

from rondel.conditions.names import registered
from rondel.engine.message import Message
from rondel.engine.registry import Registry
from rondel.errors import StepFailed


class FunctionConfig(BaseModel):
    """The name of a registered Python function."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str


def config_for(registry: Registry, base: type[FunctionConfig]) -> type[FunctionConfig]:
    """`base`, but its `name` must be a function that `registry` knows."""
    name = Annotated[str, AfterValidator(registered(registry, "function"))]
    return create_model(base.__name__, __base__=base, __module__=base.__module__, name=(name, ...))


def name_of(function: Callable[..., Any]) -> str:
    """What to call a function in an error."""
    return getattr(function, "__name__", type(function).__name__)


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


class FunctionCondition:
    """Whether a plain function of the message returns something true."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Message], Any]) -> None:
        self._function = function

    def __call__(self, message: Message, round: int) -> bool:  # noqa: ARG002
        result = self._function(message)
        if result is True or result is False:
            return bool(result)
        refuse_awaitable(result, self._function, "a condition")
        return bool(result)


def register(registry: Registry) -> None:
    """Add `function`."""
    registry.condition(
        "function",
        config_for(registry, FunctionConfig),
        lambda config, registry: FunctionCondition(registry.function_named(config.name)),
    )
