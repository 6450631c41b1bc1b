"""The node type `loop`: decides whether a loop goes on; it executes nothing itself."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rondel.conditions.expression import Expression
from rondel.engine.registry import Registry
from rondel.graph.guarantees import Calls, Guarantee, LoopGuard
from rondel.graph.names import Names
from rondel.nodes.deciding import CONSENSUS, LoopProcessor, ways

MAX_ROUNDS = "max_rounds"
VARIABLES = ("data", "text", "round")
REPORTED = frozenset({"should_exit", "exit_reason", "current_round", "timestamp", "goal_met"})
"""The keys of the data that the node adds."""


class LoopConfig(BaseModel):
    """The most rounds, and what ends the loop before: a score, consensus, or an expression."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    other_names: ClassVar[Collection[str]] = ("while", "for", "repeat")

    max_rounds: Annotated[int, Field(strict=True, ge=1)] = 3
    exit_on_score: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] = 0
    exit_condition: str = MAX_ROUNDS
    passthrough_keys: list[str] = []

    @cached_property
    def expression(self) -> Expression | None:
        """The exit condition, compiled once, if it is an expression."""
        if self.exit_condition in (MAX_ROUNDS, CONSENSUS):
            return None
        return Expression(self.exit_condition, VARIABLES)

    @property
    def has_goal(self) -> bool:
        """Whether anything but the number of rounds can end the loop."""
        return self.exit_on_score > 0 or self.exit_condition != MAX_ROUNDS

    def guarantee(self) -> Guarantee:
        """From round `max_rounds` on it takes the way out, unless its data tells another round."""
        guard = LoopGuard(
            "loop node {}",
            self.max_rounds,
            by_round=True,
            ways=lambda edges: ways(edges)[1],
            misled_by="iteration",
        )
        return Guarantee(
            alternatives=ways,
            emits=True,
            keys=REPORTED,
            passes=bool(self.passthrough_keys),
            free_text=False,
            reads="score" if self.exit_on_score > 0 else "",
            calls=Calls(),
            guard=guard,
        )

    @field_validator("exit_condition")
    @classmethod
    def _condition_is_one(cls, condition: str) -> str:
        words = Names((MAX_ROUNDS, CONSENSUS))
        if condition in words:
            return condition
        if condition.isidentifier():
            raise ValueError(
                f"{condition!r} is not max_rounds, consensus or an expression such as "
                f"data.done == true; {words.hint(condition)}"
            )
        return Expression(condition, VARIABLES).source


def register(registry: Registry) -> None:
    """Add `loop`."""
    registry.node("loop", LoopConfig, lambda config, _registry: LoopProcessor(config))
