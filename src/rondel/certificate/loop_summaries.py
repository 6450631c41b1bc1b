"""The loops of a compiled graph, as `check` shows them."""

from __future__ import annotations

import msgspec

from rondel.certificate import Certificate, Cost, LoopCertificate, certify
from rondel.graph.plan import Plan


class RunWorstCase(msgspec.Struct, frozen=True):
    """The worst case of a whole run: the most of each figure; null means no bound."""

    steps: int
    model_calls: int | None
    tokens: int | None
    usd: float | None


class LoopWorstCase(msgspec.Struct, frozen=True):
    """The worst case of one loop, over all its entries in a run."""

    rounds: int
    steps: int
    model_calls: int | None
    tokens: int | None
    usd: float | None


class LoopSummary(msgspec.Struct, frozen=True):
    """One loop: where it is entered, what is in it, and how often it may go round."""

    head: str
    nodes: list[str]
    parent: str | None
    max_rounds: int
    source: str
    """The text that names what sets the bound."""
    worst_case: LoopWorstCase
    each_continue: LoopWorstCase | None = None
    """The most that each "continue" of a person at the limit adds; null if nobody is asked."""


def loops_of(plan: Plan) -> list[LoopSummary]:
    """Every loop of a graph and of the graphs inside it, outer ones first."""
    return summaries_of(certify(plan))


def summaries_of(certificate: Certificate) -> list[LoopSummary]:
    """The loops of a certificate."""
    return [_summary(loop) for loop in certificate.loops]


def worst_case(cost: Cost) -> RunWorstCase:
    """A cost as `check` shows it."""
    return RunWorstCase(cost.steps, cost.calls, cost.tokens, _rounded(cost.usd))


def label_width(loops: list[LoopSummary]) -> int:
    """The columns that the longest address of a loop takes, with one digit for each round."""
    parents = {loop.head: loop.parent for loop in loops}
    widths = [0]
    for head in parents:
        width, parent = len(head), parents[head]
        while parent is not None:
            width += len(f"{parent}[1]/")
            parent = parents.get(parent)
        widths.append(width)
    return max(widths)


def _summary(loop: LoopCertificate) -> LoopSummary:
    more = loop.each_continue
    return LoopSummary(
        head=loop.head,
        nodes=list(loop.nodes),
        parent=loop.parent,
        max_rounds=loop.bound.rounds,
        source=loop.bound.source,
        worst_case=_loop_case(loop.rounds, loop.cost),
        each_continue=None if more is None else _loop_case(loop.bound.rounds, more),
    )


def _loop_case(rounds: int, cost: Cost) -> LoopWorstCase:
    return LoopWorstCase(rounds, cost.steps, cost.calls, cost.tokens, _rounded(cost.usd))


def _rounded(usd: float | None) -> float | None:
    """Money without the noise of binary fractions, never less than it was."""
    return None if usd is None else round(usd + 4.9e-10, 9)
