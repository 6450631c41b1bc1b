"""The page of what sessions in PostgreSQL and workers take: `results/cluster.md`."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from benchmarks.probe import Figures

PAGE = Path(__file__).parent / "results" / "cluster.md"

Measured = dict[str, Figures | str]
"""What was measured of each, or why it was not."""

SIDE_BY_SIDE = ("bare_ms", "step_ms", "times", "steps_per_s", "bytes_per_step")

_HEAD = """\
# Measured: PostgreSQL and workers

`python -m benchmarks.cluster` writes this page. PostgreSQL runs beside the workers and waits for
its disk at every commit. {machine}; {day}.

## Side by side

A session whose steps write 200 bytes each and wait for nothing: one alone, beside a bare INSERT and
commit in turns with it; then {sessions} at once in one process. A step is durable before the next
one begins. Bytes are those of tables and indexes, vacuumed by nobody.

| | a commit, ms | a step, ms | times | steps/s of many | bytes a step |
|---|---|---|---|---|---|
"""


def page(measured: Measured, peers: dict[str, str], sessions: int, machine: str) -> str:
    """Everything that was measured, as a page."""
    lines = [_HEAD.format(machine=machine, day=date.today().isoformat(), sessions=sessions)]
    lines += [f"| {title} | {_row(measured[name])} |\n" for name, title in peers.items()]
    lines.append("\n## Rondel\n\n| measured | | |\n|---|---|---|\n")
    for name, figures in measured.items():
        if name not in peers:
            lines += _rows(name, figures)
    return "".join(lines)


def _row(figures: Figures | str) -> str:
    if isinstance(figures, str):
        return f"{figures} | | | |"
    return " | ".join(_shown(figures[key]) for key in SIDE_BY_SIDE)


def _rows(name: str, figures: Figures | str) -> list[str]:
    if isinstance(figures, str):
        return [f"| {name} | {figures} | |\n"]
    return [
        f"| {name} | {key.replace('_', ' ')} | {_shown(value)} |\n"
        for key, value in figures.items()
    ]


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
