"""One run of a graph on simulated models and simulated people, and its figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rondel.engine import ticks
from rondel.engine.core import effects as fx
from rondel.engine.core.fold import replay
from rondel.engine.core.state import SessionState
from rondel.forecast.models import RUN
from rondel.graph.plan import Plan
from rondel.graph.spec import (
    BUDGET_EXHAUSTED,
    CONDITION_MET,
    MAX_ROUNDS,
    REGRESSED,
    STAGNATED,
    TARGET_REACHED,
)
from rondel.sessions.engine import Engine
from rondel.sessions.graph import Graph
from rondel.sessions.session import Session

ANSWERS_PER_RUN = 200
GOALS = (TARGET_REACHED, CONDITION_MET)
LIMITS = (MAX_ROUNDS, STAGNATED, REGRESSED, BUDGET_EXHAUSTED)


@dataclass(frozen=True, slots=True)
class LoopRun:
    """One entry of a loop."""

    head: str
    rounds: int
    reason: str


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one run."""

    number: int
    status: str
    reason: str
    message: str = ""
    loops: tuple[LoopRun, ...] = ()
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    edges: frozenset[int] = frozenset()
    """The edges that fired, by their place in the plan."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a run is given: its number, its inputs, and what people answer to open questions."""

    number: int
    inputs: dict[str, Any]
    sayings: tuple[str, ...] = field(default=("ok",))


async def play(graph: Graph, engine: Engine, seed: str, situation: Situation) -> Run:
    """Run the graph once, to its end or to a question that only a real person can answer."""
    token = RUN.set(f"{seed}/{situation.number}")
    try:
        session = await engine.start(graph, situation.inputs)
        rng = Random(f"{seed}/{situation.number}/people")  # noqa: S311
        result = await session.settled()
        if result.status == "paused":  # nobody looks at its rounds here
            await session.resume(free=True)
            result = await session.settled()
        for _ in range(ANSWERS_PER_RUN):
            if result.status != "waiting":
                break
            question = session.asking[0]
            said = rng.choice(question.actions or situation.sayings)
            await session.answer(said, node=question.node_id)
            result = await session.settled()
        found = _Trace(session)
        usage = result.usage
        return Run(
            situation.number,
            result.status,
            result.reason,
            result.message,
            tuple(found.loops),
            usage.model_calls,
            usage.tokens,
            usage.usd,
            frozenset(found.edges),
        )
    finally:
        RUN.reset(token)


class _Trace:
    """The loops and edges of a session, read from its journal."""

    def __init__(self, session: Session) -> None:
        self.loops: list[LoopRun] = []
        self.edges: Counter[int] = Counter()
        self._plan: Plan = session.plan
        for tick, effects in replay(SessionState(self._plan), session.journal()):
            if isinstance(tick, ticks.Finished):
                self.edges.update(tick.fired)
            for effect in effects:
                if isinstance(effect, fx.LoopEnded):
                    self._note(effect)

    def _note(self, effect: fx.LoopEnded) -> None:
        end, frame = effect.end, effect.frame
        self.loops.append(LoopRun(end.loop, end.rounds, end.reason))
        verdict = frame.verdict
        if verdict is None or verdict.reason != end.reason:
            self.edges.update(_ways(effect))


def _ways(effect: fx.LoopEnded) -> tuple[int, ...]:
    """The edges by which a contract left the loop."""
    scope, reason = effect.frame.scope, effect.end.reason
    if reason in GOALS:
        return scope.goal_ways
    return scope.limit_ways if reason in LIMITS else ()
