"""Prints a certificate for people."""

from __future__ import annotations

from collections.abc import Iterator

from rondel.certificate import Certificate, LoopCertificate
from rondel.cli.language import counted, translated, words
from rondel.cli.tables import length, print_table
from rondel.graph.plan import Plan

UNBOUNDED = "unbounded"
COLUMNS = ("LOOP", "INSIDE", "ROUNDS", "BOUND BY", "TOTAL", "STEPS", "CALLS", "TOKENS", "COST")
FIGURES = ("ROUNDS", "TOTAL", "STEPS", "CALLS", "TOKENS", "COST")


def print_certificate(file: str, plan: Plan, certificate: Certificate, *, valid: bool) -> None:
    """Print the size of a graph, the most that a run takes, and the most that each loop takes."""
    figures = [
        counted(len(plan.nodes), "{count} node", "{count} nodes"),
        counted(len(plan.edges), "{count} edge", "{count} edges"),
        counted(len(certificate.loops), "{count} loop", "{count} loops"),
    ]
    verdict = words("valid") if valid else words("not valid")
    print(f"{file}{words(': ')}{verdict}{words('; ')}{words(', ').join(figures)}")
    cost = certificate.cost
    most = words(
        "a run takes at most: steps {steps:,}, model calls {calls}, tokens {tokens}, cost {cost}",
        steps=cost.steps,
        calls=_figure(cost.calls),
        tokens=_figure(cost.tokens),
        cost=_money(cost.usd),
    )
    print(most)
    for reason in certificate.unbounded:
        print(translated(reason))
    if certificate.loops:
        print()
        _print_loops(certificate)


def _print_loops(certificate: Certificate) -> None:
    rows = [
        (
            loop.head,
            loop.parent or "-",
            f"{loop.bound.rounds:,}",
            translated(loop.bound.source),
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
        print(f"{head}{words(': ')}{note}")


def _notes(loop: LoopCertificate) -> Iterator[str]:
    bound, more = loop.bound, loop.each_continue
    if more is not None:
        yield words(
            "a person is asked at its limit; all figures are up to that question, and each "
            '"continue" without a number adds at most {rounds}, {calls} calls, {tokens} tokens, '
            "{cost}",
            rounds=counted(bound.rounds, "{count} round", "{count} rounds"),
            calls=_figure(more.calls),
            tokens=_figure(more.tokens),
            cost=_money(more.usd),
        )
    if bound.seconds is not None:
        time = length(bound.seconds)
        yield words(
            "it ends in the first round that finds {time} over ({timer})",
            time=time,
            timer=bound.timed_by,
        )
    yield from map(translated, bound.unproven)


def _figure(number: int | None) -> str:
    return words(UNBOUNDED) if number is None else f"{number:,}"


def _money(usd: float | None) -> str:
    return words(UNBOUNDED) if usd is None else f"${usd:,.4f}"
