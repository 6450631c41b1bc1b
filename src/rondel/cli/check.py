"""`rondel check`: all that is wrong with a graph, and the certificate of what it can take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from rondel.certificate import Certificate, LoopCertificate, certify
from rondel.cli.arguments import parse_change
from rondel.cli.failures import WRONG, complain, problem_text
from rondel.cli.graph_files import in_file, open_graph
from rondel.cli.language import counted, translated, words
from rondel.cli.options import AsDocument, Changes, Compat, File, Functions
from rondel.cli.screen import visible
from rondel.cli.tables import document, length, print_table
from rondel.errors import CallError, GraphError, Problem
from rondel.graph.plan import Plan
from rondel.sessions.findings import findings_of, lints_in, unbounded_loops
from rondel.sessions.permissions import Start, starts_of

DRAWINGS = (".svg", ".mmd")
MOST_NODES = 2000
"""The largest graph that is drawn."""

UNBOUNDED = "unbounded"
COLUMNS = ("LOOP", "INSIDE", "ROUNDS", "BOUND BY", "TOTAL", "STEPS", "CALLS", "TOKENS", "COST")
FIGURES = ("ROUNDS", "TOTAL", "STEPS", "CALLS", "TOKENS", "COST")


def check(
    file: File,
    as_json: AsDocument = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A loop bounded only by the default cap is an error.")
    ] = False,
    drawing: Annotated[
        str | None, typer.Option("--graph", metavar="OUT", help="Draw it: a .svg or .mmd file.")
    ] = None,
    changes: Changes = None,
    compat: Compat = None,
    functions: Functions = None,  # noqa: ARG001
) -> int:
    """Find all that is wrong with a graph, and prove how much its loops can take.

    Exit codes: 0 it is right, 2 it is not.
    """
    if drawing is not None:
        _check_suffix(drawing)
    try:
        changed = [parse_change(change) for change in changes or []]
        graph = open_graph(file, changed, compat=compat, demand_secrets=False)
    except GraphError as error:
        return _tell_errors(error.problems, as_json=as_json)
    plan = graph.plan()
    certificate = certify(plan)
    errors = unbounded_loops(file, certificate) if strict else []
    warnings = [*in_file(graph.warnings, file), *lints_in(file, graph, certificate)]
    if drawing is not None:
        _draw(plan, certificate, drawing)
    if as_json:
        print(document(findings_of(errors, warnings, certificate, starts_of(plan))))
    else:
        _complain(errors, warnings)
        _print_certificate(file, plan, certificate, valid=not errors)
        _print_starts(starts_of(plan))
    return WRONG if errors else 0


def _print_starts(starts: Iterable[Start]) -> None:
    """Print the programs that a run would start, and the options that allow it."""
    for start in starts:
        what = visible(start.command) if start.kind == "command" else words("Python code")
        option = "--allow-commands" if start.kind == "command" else "--allow-python"
        told = "{node} starts {what}; a run needs {option}"
        print(words(told, node=visible(start.node), what=what, option=option))


def _tell_errors(errors: Sequence[Problem], *, as_json: bool) -> int:
    if as_json:
        print(document(findings_of(errors)))
    else:
        _complain(errors, ())
    return WRONG


def _complain(errors: Sequence[Problem], warnings: Sequence[Problem]) -> None:
    for problem in errors:
        complain(problem_text(problem))
    for warning in warnings:
        complain(problem_text(warning), "warning")


def _check_suffix(file: str) -> None:
    if Path(file).suffix.lower() not in DRAWINGS:
        raise CallError(f"--graph {file}: a drawing is a .svg or a .mmd (Mermaid) file")


def _draw(plan: Plan, certificate: Certificate, file: str) -> None:
    if len(plan.nodes) > MOST_NODES:
        raise CallError(f"--graph: nobody could read a drawing of {len(plan.nodes):,} nodes")
    from rondel.certificate.drawing import mermaid, picture_of, svg

    drawn = svg if Path(file).suffix.lower() == ".svg" else mermaid
    write_drawing("--graph", file, drawn(picture_of(plan, certificate)))


def write_drawing(option: str, file: str, drawing: str) -> None:
    """Write what an option draws to a file."""
    try:
        Path(file).write_text(drawing, "utf-8")
    except OSError as error:
        raise CallError(f"{option} {file}: cannot be written: {error.strerror}") from error


# The certificate


def _print_certificate(file: str, plan: Plan, certificate: Certificate, *, valid: bool) -> None:
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
