"""A simulation as programs see it."""

from __future__ import annotations

from typing import Any

import msgspec

from rondel.forecast.distribution import distribution_of, histogram
from rondel.forecast.simulation import Simulation

SHOWN_FAILURES = 5


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
