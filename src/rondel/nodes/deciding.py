"""Deciding whether a loop goes on. It is a file of its own, because it is compiled."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Exit, Outcome, Verdict
from rondel.graph.moments import to_millisecond
from rondel.graph.values import number, spoken_value, value_of
from rondel.nodes.awaiting import do_now

if TYPE_CHECKING:
    from rondel.nodes.loop import LoopConfig

MESSAGE: Final = Message
VERDICT: Final = Verdict
"""Constants, so that compiled code does not look up their names."""

CONSENSUS: Final = "consensus"
SCORE: Final = ("score",)
NO_DATA: Final[dict[str, Any]] = {}


class LoopProcessor:
    """Says whether the loop is over, why, and which way to go."""

    __slots__ = ("_config", "_edges", "_has_goal", "_keys", "_most", "_threshold", "_ways")

    def __init__(self, config: LoopConfig) -> None:
        self._config = config
        self._has_goal: bool = config.has_goal
        self._keys: list[str] = config.passthrough_keys
        self._most: int = config.max_rounds
        self._threshold: float | None = config.exit_on_score or None
        self._edges: Sequence[Exit] | None = None
        self._ways: tuple[Sequence[Exit], Sequence[Exit]] = ((), ())

    def process(self, ctx: Context) -> Coroutine[Any, Any, Outcome]:
        """The decision, for whoever waits for it."""
        return do_now(self.process_now, ctx)

    def process_now(self, ctx: Context) -> Emit:
        """The decision; there is nothing to wait for."""
        data = ctx.data
        current = ctx.round
        if data:
            current = told_round(data.get("iteration"), current)
        score = self._score(ctx, data) if self._threshold is not None else None
        met = self._goal_reached(ctx, data, current, score) if self._has_goal else ""
        reason = "max_rounds_reached" if current >= self._most else met
        report: dict[str, Any] = {
            "should_exit": bool(reason),
            "exit_reason": reason,
            "current_round": current,
        }
        decided = {**report, "timestamp": to_millisecond(ctx.now), "goal_met": bool(met)}
        if self._keys:
            decided = {key: data[key] for key in self._keys if key in data} | decided
        messages = ctx.messages
        last = messages[-1] if messages else MESSAGE()
        goal_met = bool(met) if self._has_goal else None
        value, threshold = self._compared(reason, current, score)
        verdict = VERDICT(reason, goal_met, value, threshold, False, score, self._threshold)
        return Emit((MESSAGE(last.content, decided, last.role),), verdict=verdict, report=report)

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        """The edges that go on with the loop, or those that leave it."""
        if edges is not self._edges:
            self._edges, self._ways = edges, ways(edges)
        onward, leaving = self._ways
        return leaving if output.messages[-1].data["should_exit"] else onward

    def _score(self, ctx: Context, data: dict[str, Any]) -> float | None:
        """The score where a contract would find it: in data, in JSON, in plain words."""
        found = value_of(data, "", SCORE)
        if found is not None:
            return found
        texts = [message.text for message in ctx.messages[::-1]]
        for text in texts:
            found = value_of(NO_DATA, text, SCORE)
            if found is not None:
                return found
        for text in texts:
            found = spoken_value(text, SCORE)
            if found is not None:
                return found
        return None

    def _compared(
        self, reason: str, current: int, score: float | None
    ) -> tuple[float | None, float | None]:
        """The figure that gave the reason, and the figure that it was compared with."""
        if reason == "max_rounds_reached":
            return float(current), float(self._most)
        if reason == "score_threshold_reached":
            return score, self._threshold
        return None, None

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


def told_round(iteration: Any, round: int) -> int:
    """The round that `iteration` tells, else the engine's; the first one is 1."""
    told = number(iteration)
    return round if told is None else max(1, int(told))


def ways(edges: Sequence[Exit]) -> tuple[Sequence[Exit], Sequence[Exit]]:
    """The edges that go on with the loop, and those that leave it; of fewer than two, all."""
    onward, leaving = two_ways(edges, "continue", "exit")
    return onward, leaving or edges[1:2]


def two_ways(
    edges: Sequence[Exit], first: str, second: str
) -> tuple[Sequence[Exit], Sequence[Exit]]:
    """The edges with each of two labels; of fewer than two edges, all.

    Where no edge has the first label, the first edge takes its place; where none has the second
    label, the second edge does, or the next one that is not taken.
    """
    if len(edges) < 2:
        return edges, edges
    onward = [edge for edge in edges if edge.label == first]
    back = [edge for edge in edges if edge.label == second]
    onward = onward or [next((edge for edge in edges if edge not in back), edges[0])]
    others = [edge for edge in (edges[1], edges[0], *edges[2:]) if edge not in onward]
    return onward, back or others[:1]
