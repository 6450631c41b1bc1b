"""A certificate as people read it."""

from __future__ import annotations

from collections.abc import Iterator

from rondel.certificate import Certificate, LoopCertificate
from rondel.cli.tables import length, print_table
from rondel.graph.plan import Plan

UNBOUNDED = "unbounded"
COLUMNS = ("LOOP", "INSIDE", "ROUNDS", "BOUND BY", "TOTAL", "STEPS", "CALLS", "TOKENS", "COST")
FIGURES = "ROUNDS TOTAL STEPS CALLS TOKENS COST"


def print_certificate(file: str, plan: Plan, certificate: Certificate, *, valid: bool) -> None:
    """Print what a graph has, what a run of it takes at most, and the same for every loop."""
    figures = [_count(len(plan.nodes), "node"), _count(len(plan.edges), "edge")]
    figures.append(_count(len(certificate.loops), "loop"))
    print(f"{file}: {'valid' if valid else 'not valid'}; {', '.join(figures)}")
    cost = certificate.cost
    parts = [f"steps {cost.steps:,}", f"model calls {_figure(cost.calls)}"]
    parts += [f"tokens {_figure(cost.tokens)}", f"cost {_money(cost.usd)}"]
    print(f"a run takes at most: {', '.join(parts)}")
    for reason in certificate.unbounded:
        print(reason)
    if certificate.loops:
        print()
        _print_loops(certificate)


def _print_loops(certificate: Certificate) -> None:
    rows = [
        (
            loop.head,
            loop.parent or "-",
            f"{loop.bound.rounds:,}",
            loop.bound.source,
            f"{loop.rounds:,}",
            f"{loop.cost.steps:,}",
            _figure(loop.cost.calls),
            _figure(loop.cost.tokens),
            _money(loop.cost.usd),
        )
        for loop in certificate.loops
    ]
    print_table(COLUMNS, rows, FIGURES)
    notes = [(loop.head, note) for loop in certificate.loops for note in _notes(loop)]
    for head, note in notes:
        print(f"{head}: {note}")


def _notes(loop: LoopCertificate) -> Iterator[str]:
    bound, more = loop.bound, loop.each_continue
    if more is not None:
        yield (
            "a person is asked at its limit; all figures are up to that question, and each "
            f'"continue" without a number adds at most {_count(bound.rounds, "round")}, '
            f"{_figure(more.calls)} calls, {_figure(more.tokens)} tokens, {_money(more.usd)}"
        )
    if bound.seconds is not None:
        time = length(bound.seconds)
        yield f"it ends in the first round that finds {time} over ({bound.timed_by})"
    yield from bound.unproven


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _figure(number: int | None) -> str:
    return UNBOUNDED if number is None else f"{number:,}"


def _money(usd: float | None) -> str:
    return UNBOUNDED if usd is None else f"${usd:,.4f}"
