"""What a run of a graph takes: the worst case and the expected case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import fmean, mean, stdev

import msgspec

from rondel.certificate import certify
from rondel.forecast.run import Run
from rondel.forecast.simulation import Opener, simulate
from rondel.graph.plan import Plan, Scope
from rondel.journal.store import SessionRow, Store
from rondel.sessions.drive import fold
from rondel.sessions.expectation import past_sessions
from rondel.sessions.graph import Graph
from rondel.sessions.records import usage_of

PAST = 50
"""How many past sessions of the graph are looked at, newest first."""

BATCH, MOST = 40, 600
"""Simulated runs where there are no past sessions: BATCH at a time until the mean is known."""

ENOUGH = 5000
"""After this many simulated model calls the mean is taken as it is, to keep the wait short."""

SURE = 0.025
"""The mean is known when its standard error is at most this share of it."""


class RunCost(msgspec.Struct, frozen=True):
    """Model calls, tokens and money of a run; None means no bound."""

    model_calls: float | None
    tokens: float | None
    usd: float | None


class Estimate(msgspec.Struct, frozen=True):
    """The worst case, the expected case, and the source of the latter."""

    graph: str
    worst_case: RunCost
    expected: RunCost
    source: str
    growing: list[str] = []
    """Nodes that send their whole history again in every round of a loop."""


def estimate(
    graph: Graph,
    opener: Opener,
    store: Store | None = None,
    counts: Callable[[SessionRow], bool] = lambda _: True,
    seconds: float | None = None,
) -> Estimate:
    """The estimate of a graph; its past sessions in `store` that count, if there are any.

    `opener` opens the same graph. Simulated runs may take so many seconds.
    """
    plan = graph.plan()
    past = _past(graph, plan, store, counts) if store is not None else None
    expected, source = past or _simulated(opener, seconds)
    worst = certify(plan).cost
    worst_case = RunCost(worst.calls, worst.tokens, worst.usd)
    return Estimate(graph.id, worst_case, expected, source, growing_nodes(plan))


def _past(
    graph: Graph, plan: Plan, store: Store, counts: Callable[[SessionRow], bool]
) -> tuple[RunCost, str] | None:
    """What sessions of a graph of the same structure have spent, on average."""
    rows = past_sessions(store, graph, PAST, counts)
    if not rows:
        return None
    spent = [usage_of(fold(store, row.id, plan).state) for row in rows]
    average = _average([(usage.model_calls, usage.tokens, usage.usd) for usage in spent])
    return average, f"{len(rows)} past session{'' if len(rows) == 1 else 's'}"


def _simulated(opener: Opener, seconds: float | None) -> tuple[RunCost, str]:
    runs: list[Run] = []
    while len(runs) < MOST and not _is_known(runs):
        seed = str(len(runs) // BATCH)
        runs += simulate(opener, BATCH, seed, as_configured=True, seconds=seconds).runs
    average = _average([(run.calls, run.tokens, run.usd) for run in runs])
    return average, f"{len(runs)} simulated runs"


def _average(spent: Sequence[tuple[int, int, float]]) -> RunCost:
    calls, tokens, usd = (fmean(each) for each in zip(*spent, strict=True))
    return RunCost(calls, tokens, usd)


def _is_known(runs: list[Run]) -> bool:
    """Whether the mean of the runs is known well enough."""
    if len(runs) < 2:
        return False
    tokens = [run.tokens for run in runs]
    surely = stdev(tokens) <= SURE * mean(tokens) * sqrt(len(tokens))
    return surely or sum(run.calls for run in runs) > ENOUGH


def growing_nodes(plan: Plan) -> list[str]:
    """Nodes in loops that retain everything: what they send grows with every round.

    Over a loop this is quadratic in its rounds.
    """
    found: dict[str, None] = {}
    scopes: list[Scope] = [plan.root, *(node.inner for node in plan.nodes if node.inner)]
    for scope in scopes:
        for item in scope.items:
            if isinstance(item, int):
                continue
            for head in item.entries:
                found.update(dict.fromkeys(_growing_in(plan, item.scope(head))))
    return list(found)


def _growing_in(plan: Plan, scope: Scope) -> list[str]:
    if scope.contract.carry is not None:
        return []
    return [
        node.id
        for node in (plan.nodes[number] for number in scope.nodes)
        if node.window == -1 and hasattr(node.spec.config, "provider")
    ]
