"""The conditions `expr`, `true` and `false`, and the `until` of a loop's contract."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rondel.conditions.expression import Expression
from rondel.engine.message import Message
from rondel.engine.protocols import Until
from rondel.engine.registry import Registry
from rondel.errors import StepFailed

VARIABLES: dict[str, Callable[[Message, int], Any]] = {
    "data": lambda message, _round: message.data,
    "text": lambda message, _round: message.text,
    "content": lambda message, _round: message.text,
    "input": lambda message, _round: message.text,
    "role": lambda message, _round: message.role,
    "source": lambda message, _round: message.source,
    "node": lambda message, _round: message.source,
    "round": lambda _message, now: now,
}
UNTIL_VARIABLES = ("data", "text", "round", "score")


class ExprConfig(BaseModel):
    """A CEL expression over data, text (or content, input), role, source (or node) and round."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    expr: str = Field(description="A CEL expression; true lets the edge fire.")

    @cached_property
    def expression(self) -> Expression:
        """The expression, compiled once."""
        return Expression(self.expr, tuple(VARIABLES))

    def implies(self, other: Any) -> bool:
        """Whether both are the same expression."""
        return isinstance(other, ExprConfig) and self.expr.strip() == other.expr.strip()

    def never(self) -> bool:
        """Whether it is false without looking at anything."""
        if self.expression.names:
            return False
        try:
            return not self.expression({})
        except StepFailed:
            return False

    def holds_for(self, data: Mapping[str, Any], open_keys: frozenset[str]) -> bool | None:
        """Whether a message with this data passes; None if it looks at anything else."""
        words = set(re.findall(r"\w+", self.expr))
        calls = "(" in self.expr
        if calls or set(self.expression.names) != {"data"} or words & open_keys:
            return None
        try:
            return self.expression({"data": dict(data)})
        except StepFailed:
            return None

    @field_validator("expr")
    @classmethod
    def _compiles(cls, expr: str) -> str:
        return Expression(expr, tuple(VARIABLES)).source


class ExprCondition:
    """Evaluates an expression for a message; only the values it names are prepared."""

    __slots__ = ("_expression", "_values")

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._values = tuple((name, VARIABLES[name]) for name in expression.names)

    def __call__(self, message: Message, round: int) -> bool:
        return self._expression({name: value(message, round) for name, value in self._values})


class UntilConfig(BaseModel):
    """A CEL expression over the round's data, text, number and score."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    until: str

    @cached_property
    def expression(self) -> Expression:
        """The expression, compiled once."""
        return Expression(self.until, UNTIL_VARIABLES)

    @field_validator("until")
    @classmethod
    def _compiles(cls, until: str) -> str:
        return Expression(until, UNTIL_VARIABLES).source


def _until(config: UntilConfig, _registry: Registry) -> Until:
    expression = config.expression

    def holds(data: dict[str, Any], text: str, round: int, value: float | None) -> bool:
        return expression({"data": data, "text": text, "round": round, "score": value})

    return holds


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
    """Add the conditions and the contract."""
    registry.condition(
        "expr", ExprConfig, lambda config, _registry: ExprCondition(config.expression)
    )
    registry.condition("true", ConstantConfig, lambda _config, _registry: always)
    registry.condition("false", ConstantConfig, lambda _config, _registry: never)
    registry.contract("until", UntilConfig, _until)
