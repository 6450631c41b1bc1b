"""The condition `function`: a Python function decides."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, create_model

from rondel.conditions.calling import FunctionCondition
from rondel.conditions.names import registered
from rondel.engine.registry import Registry


class FunctionConfig(BaseModel):
    """The name of a registered Python function."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str


def config_for(registry: Registry, base: type[FunctionConfig]) -> type[FunctionConfig]:
    """`base`, but its `name` must be a function that `registry` knows."""
    name = Annotated[str, AfterValidator(registered(registry, "function"))]
    return create_model(base.__name__, __base__=base, __module__=base.__module__, name=(name, ...))


def register(registry: Registry) -> None:
    """Add `function`."""
    registry.condition(
        "function",
        config_for(registry, FunctionConfig),
        lambda config, registry: FunctionCondition(registry.function_named(config.name)),
    )
