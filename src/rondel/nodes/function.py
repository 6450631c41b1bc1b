"""The node type `function`, which names a registered Python function."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from pydantic import Field

from rondel.conditions.function import FunctionConfig, config_for
from rondel.engine.registry import Registry
from rondel.graph.guarantees import Guarantee
from rondel.nodes.calling import PROMISE, function_processor


class FunctionNodeConfig(FunctionConfig):
    """The name of a registered Python function, and whether it needs a thread of its own."""

    other_names: ClassVar[Collection[str]] = ("tool", "callable")

    blocking: bool = Field(default=False, strict=True)

    def guarantee(self) -> Guarantee:
        """It may emit anything, along all its edges."""
        return PROMISE


def register(registry: Registry) -> None:
    """Add `function`."""
    registry.node(
        "function",
        config_for(registry, FunctionNodeConfig),
        lambda config, registry: function_processor(
            registry.function_named(config.name), blocking=config.blocking
        ),
    )
