"""A simulation in figures: what many runs have in common, also as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from rondel.forecast.simulation import Simulation

SHOWN_FAILURES = 5


class Distribution(msgspec.Struct, frozen=True):
    """The lowest, mean, median, 90th percentile and highest of many values."""

    min: float
    mean: float
    p50: float
    p90: float
    max: float


def distribution_of(values: Sequence[float]) -> Distribution:
    """The figures of at least one value."""
    ordered = sorted(values)
    return Distribution(
        ordered[0],
        sum(ordered) / len(ordered),
        _quantile(ordered, 0.5),
        _quantile(ordered, 0.9),
        ordered[-1],
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def histogram(values: Sequence[int]) -> dict[int, int]:
    """How often each value occurs, in order."""
    return dict(sorted(Counter(values).items()))


def simulation_json(found: Simulation) -> dict[str, Any]:
    """A simulation as JSON."""
    taken = found.taken()
    edges = found.plan.edges
    return {
        "graph": found.plan.spec.id,
        "runs": len(found.runs),
        "seed": found.seed,
        "statuses": dict(found.statuses),
        "failures": dict(found.failures.most_common(SHOWN_FAILURES)),
        "loops": [_loop_json(found, head) for head in found.heads],
        "model_calls": _figures([run.calls for run in found.runs]),
        "tokens": _figures([run.tokens for run in found.runs]),
        "usd": _figures([run.usd for run in found.runs]),
        "edges": [{**edge_json(found, edge.index), "taken": taken[edge.index]} for edge in edges],
        "never_taken": [
            {**edge_json(found, missed.edge.index), "reached_by": missed.reached_by}
            for missed in found.missed
        ],
    }


def _loop_json(found: Simulation, head: str) -> dict[str, Any]:
    rounds = found.rounds(head)
    return {
        "head": head,
        "entries": len(rounds),
        "rounds": {**_figures(rounds), "histogram": histogram(rounds)},
        "exit_reasons": dict(found.reasons(head).most_common()),
    }


def edge_json(found: Simulation, index: int) -> dict[str, Any]:
    """An edge of the simulated graph."""
    edge = found.plan.edges[index]
    source, target = found.plan.nodes[edge.source].id, found.plan.nodes[edge.target].id
    spec = edge.spec
    return {"from": source, "to": target, "label": spec.label, "condition": spec.condition.type}


def _figures(values: list[Any]) -> dict[str, Any]:
    figures: dict[str, Any] = msgspec.to_builtins(distribution_of(values))
    return figures
