"""The findings of a check: errors, warnings, and the worst case of the loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from rondel.certificate import DEFAULT, Certificate, lints_of
from rondel.certificate.loop_summaries import LoopSummary, RunWorstCase, summaries_of, worst_case
from rondel.errors import Problem
from rondel.sessions.graph import Graph
from rondel.sessions.permissions import Start


class GraphFindings(msgspec.Struct):
    """The findings of a check; the worst case is null if the graph has errors."""

    valid: bool
    errors: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    loops: list[LoopSummary] = []
    worst_case: RunWorstCase | None = None
    unbounded: list[str] = []
    """Why figures of the worst case are null."""
    starts: list[Start] = []
    """The programs that a run would start on this machine, if that is allowed."""


def findings_of(
    errors: Sequence[Problem],
    warnings: Sequence[Problem] = (),
    certificate: Certificate | None = None,
    starts: Iterable[Start] = (),
) -> GraphFindings:
    """Problems and certificate as programs see them."""
    found = GraphFindings(not errors, problems_json(errors), problems_json(warnings))
    if certificate is not None:
        found.loops = summaries_of(certificate)
        found.worst_case = worst_case(certificate.cost)
        found.unbounded = list(certificate.unbounded)
    found.starts = list(starts)
    return found


def problems_json(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Problems as programs see them."""
    fields = ("file", "line", "path", "message", "hint")
    return [{field: getattr(problem, field) for field in fields} for problem in problems]


def lints_in(file: str, graph: Graph, certificate: Certificate) -> list[Problem]:
    """The lints of a graph, with its file."""
    found = lints_of(graph.plan(), certificate, graph.registry)
    return [replace(lint.warning, file=lint.warning.file or file) for lint in found]


def unbounded_loops(file: str, certificate: Certificate) -> list[Problem]:
    """The loops that only the default cap bounds."""
    shown = summaries_of(certificate)
    return [_unbounded_loop(file, loop) for loop in shown if loop.source == DEFAULT]


def _unbounded_loop(file: str, loop: LoopSummary) -> Problem:
    graph, _, head = loop.head.rpartition("/")
    place = f"'loops' of the graph inside {graph!r}" if graph else "'loops' of the graph"
    return Problem(
        f"only the default cap of {loop.max_rounds} rounds bounds the loop {loop.head!r}",
        path="graph.loops" if not graph else "",
        hint=f"add {head}: {{max_rounds: ...}} to the {place}",
        file=file,
    )
