"""A writer, a critic who scores what it wrote, and the contract of their loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rondel import Context, Emit, Graph, Message, Outcome, Usage
from tests.unit.sessions.playing import Played


class Scripted:
    """Says its lines, one execution after the other, the last one repeated."""

    def __init__(self, lines: Sequence[Any]) -> None:
        self._lines = lines

    async def process(self, ctx: Context) -> Outcome:
        count = (ctx.state or 0) + 1
        line = self._lines[:count][-1]
        return Emit([line if isinstance(line, Message) else Message(str(line))], state=count)


def scored(text: str, score: Any) -> Message:
    """A message with a score, or with none; one that is ready stays as it is."""
    if isinstance(score, Message):
        return score
    return Message(text, {} if score is None else {"score": score})


def refine(scores: Sequence[Any], **contract: Any) -> Graph:
    """`writer` and `critic` for ever, the k-th review being `review k`; only the contract ends it.

    `done` says what it was handed.
    """
    graph = Graph("refine")
    graph.node(id="writer")(lambda inp: f"draft {inp.round}")
    reviews = [scored(f"review {place}", score) for place, score in enumerate(scores, 1)]
    graph.add("critic", Scripted(reviews))
    graph.node(id="done")(lambda inp: inp.text)
    graph.edge("writer", "critic")
    graph.edge("critic", "writer")
    graph.edge("critic", "done", when=False)
    graph.loop("writer", **contract)
    return graph


def with_breaker(graph: Graph, breaker: Any) -> Graph:
    """The graph with these settings of its circuit breaker."""
    graph.document["graph"]["breaker"] = breaker
    return graph


def tokens(count: int, usd: float = 0.0) -> Usage:
    """A model call of so many tokens."""
    return Usage("m", count, 0, usd)


def remembering(values: list[Any], **contract: Any) -> Graph:
    """The same loop, with a writer who retains all and tells how much it saw."""
    graph = refine(values, **contract)
    nodes = graph.document["graph"]["nodes"]
    nodes[0]["context_window"] = -1
    return graph


def inner_and_outer(outer: dict[str, Any], inner: dict[str, Any]) -> Graph:
    """A loop `inner` in the loop `outer`; the inner one scores 10, 20, … and never stops."""
    graph = Graph("nested")
    graph.node(id="outer")(lambda inp: f"outer {inp.round}")
    graph.node(id="inner")(lambda inp: {"score": 10 * inp.round, "depth": {"score": inp.round}})
    graph.node(id="gate")(lambda inp: inp.text)
    graph.node(id="done")(lambda inp: inp.text)
    graph.edge("outer", "inner")
    graph.edge("inner", "inner")
    graph.edge("inner", "gate", when=False)
    graph.edge("gate", "outer")
    graph.edge("gate", "done", when=False)
    graph.loop("outer", **outer)
    graph.loop("inner", **inner)
    return graph


def end_of(played: Played, loop: str = "writer") -> tuple[str, int, float | None, float | None]:
    """Why and when the loop ended, with its figures."""
    end = next(end for end in played.result.loops if end.loop == loop)
    return end.exit_reason, end.rounds, end.value, end.threshold


def reason(played: Played, loop: str = "writer") -> str:
    return end_of(played, loop)[0]


def scores(played: Played, loop: str = "writer") -> list[float | None]:
    """The value of every round."""
    return [e.data["score"] for e in played.of("loop:round_completed", loop)]


def setbacks(played: Played, kind: str) -> list[tuple[int, float, str]]:
    """Round, delta and action of every setback."""
    told = played.of(f"loop:{kind}")
    return [(e.data["round"], e.data["delta"], e.data["action"]) for e in told]
