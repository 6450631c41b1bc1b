"""`rondel check`: all that is wrong with a graph, and the certificate of what it can take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rondel.certificate import Certificate, certify
from rondel.cli.arguments import parse_change
from rondel.cli.certificates import print_certificate
from rondel.cli.failures import WRONG, complain, problem_text
from rondel.cli.graph_files import open_graph
from rondel.cli.language import words
from rondel.cli.options import Changes, Compat, Functions
from rondel.cli.screen import visible
from rondel.errors import CallError, GraphError, Problem
from rondel.graph.plan import Plan
from rondel.sessions.findings import Findings, findings_of, lints_in, unbounded_loops
from rondel.sessions.permissions import Start, starts_of

DRAWINGS = (".svg", ".mmd")
MOST_NODES = 2000
"""The largest graph that is drawn."""


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
    functions: Functions = None,  # noqa: ARG001
) -> int:
    """Find all that is wrong with a graph, and prove how much its loops can take.

    Exit codes: 0 it is right, 2 it is not.
    """
    if graph is not None:
        _check_suffix(graph)
    try:
        changed = [parse_change(change) for change in changes or []]
        opened = open_graph(file, changed, compat=compat, demand_secrets=False)
    except GraphError as error:
        return _tell_errors(error.problems, as_json=as_json)
    plan = opened.graph.plan()
    certificate = certify(plan)
    errors = unbounded_loops(file, certificate) if strict else []
    warnings = [*opened.warnings, *lints_in(file, opened.graph, certificate)]
    if graph is not None:
        _draw(plan, certificate, graph)
    if as_json:
        _print_json(findings_of(errors, warnings, certificate, starts_of(plan)))
    else:
        _complain(errors, warnings)
        print_certificate(file, plan, certificate, valid=not errors)
        _print_starts(starts_of(plan))
    return WRONG if errors else 0


def _print_starts(starts: Iterable[Start]) -> None:
    """Print what a run would start on this machine, and the option that allows it."""
    for start in starts:
        what = visible(start.command) if start.kind == "command" else words("Python code")
        option = "--allow-commands" if start.kind == "command" else "--allow-python"
        told = "{node} starts {what}; a run needs {option}"
        print(words(told, node=visible(start.node), what=what, option=option))


def _tell_errors(errors: Sequence[Problem], *, as_json: bool) -> int:
    if as_json:
        _print_json(findings_of(errors))
    else:
        _complain(errors, ())
    return WRONG


def _complain(errors: Sequence[Problem], warnings: Sequence[Problem]) -> None:
    for problem in errors:
        complain(problem_text(problem))
    for warning in warnings:
        complain(problem_text(warning), "warning")


def _print_json(findings: Findings) -> None:
    print(msgspec.json.format(msgspec.json.encode(findings), indent=2).decode())


def _check_suffix(file: str) -> None:
    if Path(file).suffix.lower() not in DRAWINGS:
        raise CallError(f"--graph {file}: a drawing is a .svg or a .mmd (Mermaid) file")


def _draw(plan: Plan, certificate: Certificate, file: str) -> None:
    if len(plan.nodes) > MOST_NODES:
        raise CallError(f"--graph: nobody could read a drawing of {len(plan.nodes):,} nodes")
    from rondel.certificate.drawing import mermaid, picture_of, svg

    drawn = svg if Path(file).suffix.lower() == ".svg" else mermaid
    try:
        Path(file).write_text(drawn(picture_of(plan, certificate)), "utf-8")
    except OSError as error:
        raise CallError(f"--graph {file}: cannot be written: {error.strerror}") from error
