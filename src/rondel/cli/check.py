"""`rondel check`: all that is wrong with a graph, and what its loops may do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from rondel.cli.documents import open_graph
from rondel.cli.failures import WRONG, complain
from rondel.cli.loops import DEFAULT, LoopFace, loops_of
from rondel.errors import GraphError, Problem
from rondel.graph.plan import Plan


class Findings(msgspec.Struct):
    """What a check has found."""

    valid: bool
    errors: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    loops: list[LoopFace]


def check(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A graph: YAML, JSON, or Python with a `graph`.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print it all as JSON.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A loop bounded only by the default cap is an error.")
    ] = False,
    debug: Annotated[  # noqa: ARG001
        bool, typer.Option("--debug", help="Show tracebacks.")
    ] = False,
) -> int:
    """Find all that is wrong with a graph, and show its loops and their bounds.

    Exit codes: 0 it is right, 2 it is not.
    """
    warnings: Sequence[Problem] = ()
    loops: list[LoopFace] = []
    plan: Plan | None = None
    try:
        opened = open_graph(file)
        warnings, plan = opened.warnings, opened.graph.plan()
        loops = loops_of(plan)
        errors = _unbounded(file, loops) if strict else []
    except GraphError as error:
        errors = list(error.problems)
    if as_json:
        _print_json(Findings(not errors, _faces(errors), _faces(warnings), loops))
    else:
        for problem in errors:
            complain(str(problem))
        for warning in warnings:
            complain(str(warning), "warning")
        if plan is not None:
            _print_loops(file, plan, loops, valid=not errors)
    return WRONG if errors else 0


def _unbounded(file: str, loops: Sequence[LoopFace]) -> list[Problem]:
    return [_unbounded_loop(file, loop) for loop in loops if loop.source == DEFAULT]


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


def _print_loops(file: str, plan: Plan, loops: Sequence[LoopFace], *, valid: bool) -> None:
    figures = [_count(len(plan.nodes), "node"), _count(len(plan.edges), "edge")]
    figures += [_count(len(loops), "loop"), f"at most {plan.max_steps:,} steps"]
    print(f"{file}: {'valid' if valid else 'not valid'}; {', '.join(figures)}")
    for loop in loops:
        inside = f", inside loop {loop.parent}" if loop.parent else ""
        bound = "default cap" if loop.source == DEFAULT else "its contract"
        print(f"loop {loop.head}{inside}: at most {loop.max_rounds:,} rounds ({bound})")
        print(f"  {_short(loop.nodes)}")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _short(names: Sequence[str], shown: int = 12) -> str:
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")
