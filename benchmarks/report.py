"""The results as people read them: one page of tables, and one picture for each workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.contender import EVERYONE, Contender
from benchmarks.goals import Goals
from benchmarks.plot import Bar, Row, bar_chart
from benchmarks.process import NO_COUNTERPART, Absent
from benchmarks.results import FOLDER, Results, Series
from benchmarks.words import number, size
from benchmarks.workload import WORKLOADS, Workload

CLOCKS = {"cpu": "CPU time", "wall": "wall time"}
MARKS = {True: "yes", False: "no", None: "–"}


def write(results: Results, folder: Path = FOLDER) -> None:
    """Write the page and the pictures."""
    folder.mkdir(exist_ok=True)
    (folder / "results.md").write_text(page(results))
    for workload in WORKLOADS:
        if workload.id in results.series:
            picture = plot(workload, results.series[workload.id])
            (folder / f"{workload.id}.svg").write_text(picture)


def page(results: Results) -> str:
    """All tables, in Markdown."""
    sections = ["# Measured", _goals(results)]
    sections += [
        _section(workload, results.series[workload.id])
        for workload in WORKLOADS
        if workload.id in results.series
    ]
    return "\n\n".join(sections) + "\n"


def plot(workload: Workload, series: Series) -> str:
    """One workload as a picture."""
    note = f"{unit_in_words(workload)}; {series.machine}; {series.day}"
    taking_part = series.contenders(EVERYONE)
    rows = [_row(one, workload, series, _sizes(series, taking_part)) for one in taking_part]
    shown = [row for row in rows if any(bar.words != NO_COUNTERPART.word for bar in row.bars)]
    return bar_chart(f"{workload.id}: {workload.title}", note, shown)


def unit_in_words(workload: Workload) -> str:
    """What the figures of a workload are."""
    above = ", above the floor" if workload.clock == "cpu" and "µs" in workload.unit else ""
    unit = "seconds" if workload.unit == "s" else workload.unit
    return f"{unit}, {CLOCKS[workload.clock]}{above}"


def _row(contender: Contender, workload: Workload, series: Series, sizes: Sequence[int]) -> Row:
    kind = "floor" if contender.is_floor else "peer" if contender.is_peer else "rondel"
    bars = []
    for one in sizes:
        figure = series.figure(contender, one, workload)
        words = figure.word if isinstance(figure, Absent) else number(figure)
        value = None if isinstance(figure, Absent) else figure
        if series.passes(contender, one):
            bars.append(Bar(f"{one:,}", value, words))
    return Row(contender.title, kind, bars)


def _sizes(series: Series, contenders: Sequence[Contender]) -> list[int]:
    return sorted({size for one in contenders for size in series.cells[one.name]})


def _goals(results: Results) -> str:
    lines = ["| goal | measured | reached | asked for | met |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.figures} | {row.reached} | {row.goal} | {MARKS[row.met]} |"
        for row in Goals(results, results).all()
    ]
    return "\n".join(lines)


def _section(workload: Workload, series: Series) -> str:
    taking_part = series.contenders(EVERYONE)
    sizes = _sizes(series, taking_part)
    shows_disk = workload.id == "W3"
    shows_memory = workload.id == "W5"
    head = [f"{one:,} {workload.size_word}" for one in sizes]
    head += [f"on disk, {one:,}" for one in sizes] if shows_disk else []
    head += ["memory above base"] if shows_memory else []
    lines = [
        f"## {workload.id}: {workload.title}",
        "",
        f"In {unit_in_words(workload)}. {series.machine}; {series.day}.",
        "",
        f"![{workload.id}]({workload.id}.svg)",
        "",
        f"| | {' | '.join(head)} |",
        "|---" * (len(head) + 1) + "|",
    ]
    for contender in taking_part:
        cells = [_cell(series, contender, one, workload) for one in sizes]
        cells += [_disk(series, contender, one) for one in sizes] if shows_disk else []
        cells += [_memory(series, contender, sizes[-1])] if shows_memory else []
        version = f" {series.version(contender)}" if contender.is_peer else ""
        lines.append(f"| {contender.title}{_unless_said(version)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _unless_said(version: str) -> str:
    return f" ({version.strip()})" if version.strip() else ""


def _cell(series: Series, contender: Contender, size: int, workload: Workload) -> str:
    if not series.passes(contender, size):
        return ""
    figure = series.figure(contender, size, workload)
    return figure.word if isinstance(figure, Absent) else number(figure)


def _disk(series: Series, contender: Contender, rounds: int) -> str:
    count = series.disk(contender, rounds)
    return "" if count is None else size(count)


def _memory(series: Series, contender: Contender, sessions: int) -> str:
    outcome = series.best(contender, sessions, "wall")
    return "" if isinstance(outcome, Absent) else size(outcome.memory)
