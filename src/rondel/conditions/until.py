"""`until` in a loop's contract: an expression over the finished round; true ends the loop."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from rondel.conditions.expression import Expression
from rondel.engine.protocols import Until
from rondel.engine.registry import Registry

VARIABLES = ("data", "text", "round", "score")


class UntilConfig(BaseModel):
    """A CEL expression over the round's data, text, number and score."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    until: str

    @cached_property
    def expression(self) -> Expression:
        """The expression, compiled once."""
        return Expression(self.until, VARIABLES)

    @field_validator("until")
    @classmethod
    def _compiles(cls, until: str) -> str:
        return Expression(until, VARIABLES).source


def _build(config: UntilConfig, _registry: Registry) -> Until:
    expression = config.expression

    def holds(data: dict[str, Any], text: str, round: int, value: float | None) -> bool:
        return expression({"data": data, "text": text, "round": round, "score": value})

    return holds


def register(registry: Registry) -> None:
    """Add `until`."""
    registry.contract("until", UntilConfig, _build)
