"""`rondel check`: all that is wrong with a graph, and the certificate of what it can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
import typer

from rondel.certificate import DEFAULT, Certificate, certify, lints_of
from rondel.cli.arguments import parse_change
from rondel.cli.certificates import print_certificate
from rondel.cli.documents import open_graph
from rondel.cli.failures import WRONG, complain
from rondel.cli.loops import LoopFace, WorstCase, faces_of, worst_case
from rondel.cli.options import Changes, Compat
from rondel.errors import GraphError, Problem
from rondel.sessions.graph import Graph


class Findings(msgspec.Struct):
    """What a check has found; the worst case is null where the graph is wrong."""

    valid: bool
    errors: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    loops: list[LoopFace] = []
    worst_case: WorstCase | None = None
    unbounded: list[str] = []
    """Why figures of the worst case are null."""


def check(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A graph: YAML, JSON, or Python with a `graph`.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print it all as JSON.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A loop bounded only by the default cap is an error.")
    ] = False,
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="OUT", help="Draw it: a .svg or .mmd file.")
    ] = None,
    changes: Changes = None,
    compat: Compat = None,
    debug: Annotated[  # noqa: ARG001
        bool, typer.Option("--debug", help="Show tracebacks.")
    ] = False,
) -> int:
    """Find all that is wrong with a graph, and prove how much its loops can take.

    Exit codes: 0 it is right, 2 it is not.
    """
    if graph is not None:
        from rondel.cli.drawings import check_suffix

        check_suffix(graph)
    try:
        changed = [parse_change(change) for change in changes or []]
        opened = open_graph(file, changed, compat=compat, demand_secrets=False)
    except GraphError as error:
        return _tell_errors(error.problems, as_json=as_json)
    plan = opened.graph.plan()
    certificate = certify(plan)
    errors = _unbounded(file, certificate) if strict else []
    warnings = [*opened.warnings, *_lints(file, opened.graph, certificate)]
    if graph is not None:
        from rondel.cli.drawings import draw

        draw(plan, certificate, graph)
    if as_json:
        faces, whole = faces_of(certificate), worst_case(certificate.cost)
        why = list(certificate.unbounded)
        _print_json(Findings(not errors, _faces(errors), _faces(warnings), faces, whole, why))
    else:
        _complain(errors, warnings)
        print_certificate(file, plan, certificate, valid=not errors)
    return WRONG if errors else 0


def _tell_errors(errors: Sequence[Problem], *, as_json: bool) -> int:
    if as_json:
        _print_json(Findings(False, _faces(errors), []))
    else:
        _complain(errors, ())
    return WRONG


def _complain(errors: Sequence[Problem], warnings: Sequence[Problem]) -> None:
    for problem in errors:
        complain(str(problem))
    for warning in warnings:
        complain(str(warning), "warning")


def _lints(file: str, graph: Graph, certificate: Certificate) -> list[Problem]:
    found = lints_of(graph.plan(), certificate, graph.registry)
    return [replace(lint.warning, file=lint.warning.file or file) for lint in found]


def _unbounded(file: str, certificate: Certificate) -> list[Problem]:
    faces = faces_of(certificate)
    return [_unbounded_loop(file, loop) for loop in faces if loop.source == DEFAULT]


def _unbounded_loop(file: str, loop: LoopFace) -> Problem:
    graph, _, head = loop.head.rpartition("/")
    place = f"'loops' of the graph inside {graph!r}" if graph else "'loops' of the graph"
    return Problem(
        f"only the default cap of {loop.max_rounds} rounds bounds the loop {loop.head!r}",
        path="graph.loops" if not graph else "",
        hint=f"add {head}: {{max_rounds: ...}} to the {place}",
        file=file,
    )


def _faces(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    fields = ("file", "line", "path", "message", "hint")
    return [{field: getattr(problem, field) for field in fields} for problem in problems]


def _print_json(findings: Findings) -> None:
    print(msgspec.json.format(msgspec.json.encode(findings), indent=2).decode())
