"""The node type `loop`: decides whether a loop goes on; it executes nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rondel.conditions.expression import Expression
from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Exit, Verdict
from rondel.engine.registry import Registry
from rondel.graph.names import Names
from rondel.graph.promises import Calls, Guard, Promise
from rondel.graph.values import number

MAX_ROUNDS = "max_rounds"
CONSENSUS = "consensus"
VARIABLES = ("data", "text", "round")
REPORTED = frozenset({"should_exit", "exit_reason", "current_round", "timestamp", "goal_met"})
"""The data that it emits of its own."""


class LoopConfig(BaseModel):
    """The most rounds, and what ends the loop before: a score, consensus, or an expression."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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

    def promise(self) -> Promise:
        """From round `max_rounds` on it takes the way out, unless its data tells another round."""
        guard = Guard(
            "loop node {}",
            self.max_rounds,
            by_round=True,
            ways=lambda edges: ways(edges)[1],
            misled_by="iteration",
        )
        return Promise(
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


class LoopProcessor:
    """Says whether the loop is over, why, and which way to go."""

    __slots__ = ("_config", "_edges", "_has_goal", "_keys", "_most", "_threshold", "_ways")

    def __init__(self, config: LoopConfig) -> None:
        self._config = config
        self._has_goal = config.has_goal
        self._keys = config.passthrough_keys
        self._most = config.max_rounds
        self._threshold = config.exit_on_score or None
        self._edges: Sequence[Exit] | None = None
        self._ways: tuple[Sequence[Exit], Sequence[Exit]] = ((), ())

    async def process(self, ctx: Context) -> Emit:
        return self.process_now(ctx)

    def process_now(self, ctx: Context) -> Emit:
        """The decision; there is nothing to wait for."""
        data = ctx.data
        current = current_round(data.get("iteration"), ctx.round)
        score = number(data.get("score"))
        met = self._goal_reached(ctx, data, current, score) if self._has_goal else ""
        reason = "max_rounds_reached" if current >= self._most else met
        report = {
            "should_exit": bool(reason),
            "exit_reason": reason,
            "current_round": current,
        }
        decided = {**report, "timestamp": rfc3339(ctx.now), "goal_met": bool(met)}
        if self._keys:
            decided = {key: data[key] for key in self._keys if key in data} | decided
        messages = ctx.messages
        last = messages[-1] if messages else Message()
        goal_met = bool(met) if self._has_goal else None
        verdict = Verdict(reason, goal_met, score, self._threshold)
        return Emit((Message(last.content, decided, last.role),), verdict=verdict, report=report)

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        if edges is not self._edges:
            self._edges, self._ways = edges, ways(edges)
        onward, leaving = self._ways
        return leaving if output.messages[-1].data["should_exit"] else onward

    def _goal_reached(
        self, ctx: Context, data: dict[str, Any], current: int, score: float | None
    ) -> str:
        """The reason to end the loop that its goal gives, or an empty text."""
        threshold = self._threshold
        if threshold is not None and score is not None and score >= threshold:
            return "score_threshold_reached"
        if self._config.exit_condition == CONSENSUS:
            agreed = data.get("consensus") is True or data.get("consensus_reached") is True
            return "consensus_reached" if agreed else ""
        expression = self._config.expression
        if expression and expression({"data": data, "text": ctx.text, "round": current}):
            return "condition_met"
        return ""


def ways(edges: Sequence[Exit]) -> tuple[Sequence[Exit], Sequence[Exit]]:
    """The edges that go on with the loop, and those that leave it; of fewer than two, all."""
    if len(edges) < 2:
        return edges, edges
    onward = _labelled(edges, "continue")
    leaving = _labelled(edges, "exit")
    onward = onward or [next((edge for edge in edges if edge not in leaving), edges[0])]
    return onward, leaving or _second(edges, onward)


def current_round(iteration: Any, round: int) -> int:
    """The round that `iteration` tells, else the engine's; the first one is 1."""
    told = number(iteration)
    return max(1, round if told is None else int(told))


def rfc3339(now: float) -> str:
    """A time of the session's clock as text, in UTC."""
    second, milli = divmod(int(now * 1e6 + 0.5) // 1000, 1000)
    return f"{_until_second(second)}.{milli:03}Z"


@lru_cache(maxsize=64)
def _until_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:-6]


def _labelled(edges: Sequence[Exit], label: str) -> list[Exit]:
    return [edge for edge in edges if edge.label == label]


def _second(edges: Sequence[Exit], taken: Sequence[Exit]) -> list[Exit]:
    """The second edge, or the first if the second one is taken already."""
    candidates = (edges[1], edges[0], *edges[2:])
    return [next((edge for edge in candidates if edge not in taken), edges[1])]


def register(registry: Registry) -> None:
    """Add `loop`."""
    registry.node("loop", LoopConfig, lambda config, _registry: LoopProcessor(config))
