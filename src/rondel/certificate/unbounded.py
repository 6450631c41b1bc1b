"""Why a figure of the certificate is not bounded: which nodes, and what is not known of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rondel.certificate.cost import Cost
from rondel.graph.guarantees import Calls, Guarantee
from rondel.graph.plan import Plan

CALLS, TOKENS, MONEY = "model calls", "tokens", "cost"


def unbounded(
    plan: Plan, cost: Cost, executions: Sequence[int], guarantees: Sequence[Guarantee]
) -> tuple[str, ...]:
    """A sentence for each reason; none where all is bounded."""
    figures = ((CALLS, cost.calls), (TOKENS, cost.tokens), (MONEY, cost.usd))
    missing = [name for name, figure in figures if figure is None]
    found: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for node, times, guarantee in zip(plan.nodes, executions, guarantees, strict=True):
        for touched, reason in _reasons(guarantee.calls) if times else ():
            names = tuple(name for name in missing if name in touched)
            if names:
                found.setdefault((names, reason), []).append(node.id)
    return tuple(_told(names, nodes, reason) for (names, reason), nodes in found.items())


def _reasons(calls: Calls) -> Iterator[tuple[Sequence[str], str]]:
    """Which figures a node leaves open, and why."""
    if calls.most == 0:
        return
    if calls.most is None:
        yield (CALLS, TOKENS, MONEY), calls.why or "it asks for each part of a message"
    elif calls.tokens is None:
        yield (TOKENS, MONEY), calls.why or "nobody knows how much a call takes"
    for model in calls.unpriced:
        yield (MONEY,), f"nobody lists a price for {model!r}; set it under 'prices:'"


def _told(names: Sequence[str], nodes: Sequence[str], reason: str) -> str:
    verb = "is" if names == (MONEY,) else "are"
    return f"{' and '.join(names)} {verb} unbounded: {', '.join(nodes)}: {reason}"
