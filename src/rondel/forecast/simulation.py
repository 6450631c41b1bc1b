"""Many runs of one graph, in several processes, and their common figures."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from random import Random
from time import monotonic
from typing import Any

from rondel.errors import CallError
from rondel.forecast.models import AS_CONFIGURED, forecasting
from rondel.forecast.run import Run, Situation, play
from rondel.graph.plan import Plan, PlanEdge
from rondel.sessions.engine import Engine
from rondel.sessions.graph import Graph

ALONE = 100
"""Up to this many runs stay in this process."""

TRIES = 12
"""Extra runs for each edge that no run took."""

Opener = Callable[[], Graph]
"""Opens the graph, with simulated models, in whatever process it is called."""


@dataclass(frozen=True, slots=True)
class Missed:
    """An edge that no run took, and inputs with which a run takes it, if any were found."""

    edge: PlanEdge
    reached_by: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Simulation:
    """All runs of a graph."""

    plan: Plan
    seed: str
    runs: tuple[Run, ...]
    missed: tuple[Missed, ...]

    @property
    def statuses(self) -> Counter[str]:
        """How many runs ended with each status."""
        return Counter(run.status for run in self.runs)

    @property
    def failures(self) -> Counter[str]:
        """What the failed runs failed of."""
        return Counter(run.message for run in self.runs if run.status == "failed")

    @property
    def heads(self) -> list[str]:
        """The heads of all loops that were entered."""
        return list(dict.fromkeys(loop.head for run in self.runs for loop in run.loops))

    def rounds(self, head: str) -> list[int]:
        """The rounds of every entry of a loop."""
        return [loop.rounds for run in self.runs for loop in run.loops if loop.head == head]

    def reasons(self, head: str) -> Counter[str]:
        """Why a loop ended, over all its entries."""
        return Counter(loop.reason for run in self.runs for loop in run.loops if loop.head == head)

    def taken(self) -> Counter[int]:
        """In how many runs each edge fired."""
        return Counter(edge for run in self.runs for edge in run.edges)


def simulate(
    opener: Opener,
    count: int,
    seed: str = "0",
    inputs: dict[str, Any] | None = None,
    *,
    jobs: int | None = None,
    as_configured: bool = False,
    told: Callable[[int], None] = lambda _done: None,
    seconds: float | None = None,
) -> Simulation:
    """Run the graph that `opener` opens `count` times; the same seed gives the same runs.

    Raises CallError if the runs take longer than so many seconds.
    """
    if count < 1:
        raise CallError("a simulation needs at least one run")
    until = None if seconds is None else monotonic() + seconds
    player = _Player(opener, seed, as_configured, until)
    try:
        return _simulated(player, count, inputs or {"task": "a task"}, jobs, told)
    except TimeoutError:
        raise CallError(
            f"the simulation was not over after {seconds:g} s; ask for fewer runs, or give the "
            "graph a smaller limits.max_steps"
        ) from None


@dataclass(frozen=True, slots=True)
class _Player:
    """Runs the graph in situations, in whatever process."""

    opener: Opener
    seed: str
    as_configured: bool
    until: float | None
    """When, by the monotonic clock, it must be over."""

    def play(self, situations: Sequence[Situation]) -> list[Run]:
        """What becomes of a run in each situation."""
        return asyncio.run(self._play(situations))

    async def _play(self, situations: Sequence[Situation]) -> list[Run]:
        AS_CONFIGURED.set(self.as_configured)
        graph = self.opener()
        registry = forecasting(graph.registry)
        async with (
            asyncio.timeout_at(self.until),
            Engine(db=None, registry=registry, tracer_provider=False) as engine,
        ):
            engine.expectation.minds_the_past = False  # simulated runs are no past
            return [await play(graph, engine, self.seed, each) for each in situations]


def _simulated(
    player: _Player,
    count: int,
    inputs: dict[str, Any],
    jobs: int | None,
    told: Callable[[int], None],
) -> Simulation:
    graph = player.opener()
    plan = graph.plan()
    words = list(dict.fromkeys(word for edge in plan.edges for word in _words_of(edge)))
    situations = [_situation(number, player.seed, inputs, words) for number in range(count)]
    workers = jobs or (1 if count <= ALONE else min(os.cpu_count() or 1, 8))
    if graph.is_python or workers == 1:
        runs = player.play(situations)
        told(count)
    else:
        runs = _spread(player, situations, workers, told)
    taken = {edge for run in runs for edge in run.edges}
    # A few more runs for each edge that none took, with what its condition looks for.
    finder = replace(player, seed=f"{player.seed}/search")
    missed = [
        Missed(edge, _way_to(finder, edge, inputs))
        for edge in plan.edges
        if edge.index not in taken
    ]
    return Simulation(plan, player.seed, tuple(runs), tuple(missed))


def _spread(
    player: _Player, situations: list[Situation], workers: int, told: Callable[[int], None]
) -> list[Run]:
    size = max(1, -(-len(situations) // (workers * 4)))
    parts = [situations[at : at + size] for at in range(0, len(situations), size)]
    runs: list[Run] = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for played in pool.map(player.play, parts):
            runs.extend(played)
            told(len(runs))
    return runs


def _situation(number: int, seed: str, given: dict[str, Any], words: Sequence[str]) -> Situation:
    """Most runs get the inputs as they are; some also one of the words the graph looks for."""
    rng = Random(f"{seed}/{number}/situation")  # noqa: S311
    sayings = ("ok", *words)
    if not words or rng.random() < 0.7:
        return Situation(number, given, sayings)
    return Situation(number, _saying(given, rng.choice(words)), sayings)


def _saying(given: dict[str, Any], word: str) -> dict[str, Any]:
    return {**given, "task": f"{given.get('task', '')} {word}".strip()}


def _words_of(edge: PlanEdge) -> Iterable[str]:
    words = getattr(edge.spec.condition.config, "any", None)
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _way_to(player: _Player, edge: PlanEdge, inputs: dict[str, Any]) -> dict[str, Any] | None:
    """Inputs with which a run takes the edge, if they are found."""
    words = list(_words_of(edge))[:TRIES]
    tries = [
        Situation(10**9 + number, _saying(inputs, word), (word,))
        for number, word in enumerate(words)
    ]
    runs = player.play(tries) if tries else []
    for situation, run in zip(tries, runs, strict=True):
        if edge.index in run.edges:
            return situation.inputs
    return None
