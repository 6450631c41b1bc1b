"""The conditions `true` and `false`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from rondel.engine.message import Message
from rondel.engine.registry import Registry


class ConstantConfig(BaseModel):
    """A constant has no options."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def always(message: Message, round: int) -> bool:  # noqa: ARG001
    """Every message passes."""
    return True


def never(message: Message, round: int) -> bool:  # noqa: ARG001
    """No message passes."""
    return False


def register(registry: Registry) -> None:
    """Add `true` and `false`."""
    registry.condition("true", ConstantConfig, lambda _config, _registry: always)
    registry.condition("false", ConstantConfig, lambda _config, _registry: never)
