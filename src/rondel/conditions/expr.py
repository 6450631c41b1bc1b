"""The condition `expr`: an expression over a message."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from rondel.conditions.expression import Expression
from rondel.engine.message import Message
from rondel.engine.registry import Registry

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


class ExprConfig(BaseModel):
    """A CEL expression over data, text (or content, input), role, source (or node) and round."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    expr: str

    @cached_property
    def expression(self) -> Expression:
        """The expression, compiled once."""
        return Expression(self.expr, tuple(VARIABLES))

    @field_validator("expr")
    @classmethod
    def _compiles(cls, expr: str) -> str:
        return Expression(expr, tuple(VARIABLES)).source


class ExprCondition:
    """Whether an expression holds for a message; only what it names is handed over."""

    __slots__ = ("_expression", "_values")

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._values = tuple((name, VARIABLES[name]) for name in expression.names)

    def __call__(self, message: Message, round: int) -> bool:
        return self._expression({name: value(message, round) for name, value in self._values})


def register(registry: Registry) -> None:
    """Add `expr`."""
    registry.condition(
        "expr", ExprConfig, lambda config, _registry: ExprCondition(config.expression)
    )
