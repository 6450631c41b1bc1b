"""Building a node as a graph would, and running its steps."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import ValidationError

from rondel import conditions, models, nodes
from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Outcome, Processor
from rondel.engine.registry import Registry
from tests.unit.nodes.context import FakeContext


def registry_with(**functions: Any) -> Registry:
    """All that is built in, and the functions given."""
    registry = Registry()
    conditions.register(registry)
    models.register(registry)
    nodes.register_builtins(registry)
    for name, function in functions.items():
        registry.function(name, function)
    return registry


def built(type: str, **config: Any) -> Any:
    """The processor of a node of that type."""
    registry = registry_with()
    return registry.build("node", type, registry.config_model("node", type).model_validate(config))


def step(processor: Processor, ctx: FakeContext) -> Outcome:
    """One execution."""
    return asyncio.run(processor.process(ctx))


def emitted(processor: Processor, ctx: FakeContext) -> Message:
    """The one message of one execution."""
    outcome = step(processor, ctx)
    assert isinstance(outcome, Emit)
    (message,) = outcome.messages
    return message


def problems(type: str, config: dict[str, Any], **functions: Any) -> list[str]:
    """What is wrong with a config, each as `path: message`."""
    try:
        registry_with(**functions).config_model("node", type).model_validate(config)
    except ValidationError as error:
        return [
            f"{'.'.join(map(str, each['loc']))}: {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors()
        ]
    return []
