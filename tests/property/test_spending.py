"""No budget is overrun by more than one call, and no certificate at all, however many run at once.

`RONDEL_SPENDING_CASES=5000` runs more random graphs than CI does.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter

import pytest

from rondel import Graph
from rondel.certificate import Certificate, certify
from rondel.graph.spec import BudgetSpec
from tests.property.spending import Spent, random_graph, run

CASES = int(os.environ.get("RONDEL_SPENDING_CASES", "400"))
SHARE = 100
NOISE = 1e-9


def exceeded(certificate: Certificate, spent: Spent) -> list[str]:
    """What the run took more of than was certified; what is not bounded cannot be exceeded."""
    cost = certificate.cost
    figures = {
        "steps": (spent.steps, cost.steps),
        "calls": (spent.calls, cost.calls),
        "tokens": (spent.tokens, cost.tokens),
        "usd": (spent.usd, None if cost.usd is None else cost.usd + NOISE),
    }
    for loop in certificate.loops:
        rounds = spent.rounds.get(loop.head, [0])
        figures[f"rounds of {loop.head}"] = sum(rounds), loop.rounds
        figures[f"rounds of {loop.head} at once"] = max(rounds), loop.bound.rounds
    return [
        f"{taken} {name} of {most}"
        for name, (taken, most) in figures.items()
        if most is not None and taken > most
    ]


def overrun(graph: Graph, certificate: Certificate, spent: Spent) -> list[str]:
    """The budgets that were overrun by more than the largest call."""
    calls = [guarantee.calls for guarantee in certificate.guarantees]
    tokens = max(call.tokens or 0 for call in calls)
    money = max(call.usd or 0.0 for call in calls)
    found = []
    limits = graph.spec.limits.budget
    if limits.tokens is not None and spent.tokens >= limits.tokens + max(tokens, 1):
        found.append(f"{spent.tokens} tokens of {limits.tokens}")
    if limits.usd is not None and spent.usd > limits.usd + money + NOISE:
        found.append(f"{spent.usd} usd of {limits.usd}")
    for end in spent.ends:
        budget: BudgetSpec = graph.spec.loops[end["loop"]].budget
        call = money if budget.tokens is None else tokens
        if end["value"] > end["threshold"] + call + NOISE:
            found.append(f"{end['value']} of {end['threshold']} in {end['loop']}")
    return found


@pytest.mark.parametrize("share", range((CASES + SHARE - 1) // SHARE))
def test_no_budget_is_overrun_by_more_than_one_call(share: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(share * SHARE, min((share + 1) * SHARE, CASES)):
        graph = random_graph(seed)
        certificate = certify(graph.plan())
        spent = asyncio.run(run(graph))
        assert not exceeded(certificate, spent), seed
        assert not overrun(graph, certificate, spent), seed
        seen["ended"] += len(spent.ends)
        seen["money"] += graph.spec.limits.budget.usd is not None
        seen["unbounded calls"] += certificate.cost.calls is None
        seen["calls"] += spent.calls
    assert seen["ended"] > SHARE / 10
    assert seen["money"]
    assert seen["unbounded calls"]
    assert seen["calls"] > SHARE
