"""A registry with the built-in conditions."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from rondel import conditions
from rondel.engine.registry import Registry


def registry_with(**functions: Any) -> Registry:
    """All conditions and processes, and the functions given."""
    registry = Registry()
    conditions.register(registry)
    for name, function in functions.items():
        registry.function(name, function)
    return registry


def built(kind: str, name: str, config: dict[str, Any], **functions: Any) -> Any:
    """The condition or process of that name, as a graph would have it."""
    registry = registry_with(**functions)
    model = registry.config_model(kind, name)
    return registry.build(kind, name, model.model_validate(config))


def problems(kind: str, name: str, config: dict[str, Any], **functions: Any) -> list[str]:
    """What is wrong with a config, each as `path: message`."""
    model = registry_with(**functions).config_model(kind, name)
    try:
        model.model_validate(config)
    except ValidationError as error:
        return [
            f"{'.'.join(map(str, each['loc']))}: {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors()
        ]
    return []
