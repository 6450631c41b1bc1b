"""`rondel simulate`: thousands of runs on simulated models, before one on real ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rondel.cli.arguments import merged, parse_change, parse_inputs, parse_object
from rondel.cli.graph_files import Change, open_graph
from rondel.cli.language import translated, words
from rondel.cli.options import Changes, Compat, Functions, InputObject
from rondel.cli.screen import below
from rondel.cli.tables import print_table, wide
from rondel.cli.views import json_line, money
from rondel.errors import CallError
from rondel.forecast.distribution import Distribution, distribution_of
from rondel.forecast.plot import svg_of
from rondel.forecast.simulation import Missed, Simulation
from rondel.forecast.simulation import simulate as simulated
from rondel.forecast.simulation_json import edge_json, simulation_json
from rondel.sessions.graph import Graph

LOOPS = ("LOOP", "LEAST", "MEAN", "90 %", "MOST", "WHY IT ENDED")


def simulate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A graph: YAML, JSON, or Python with a `graph`.")
    ],
    count: Annotated[int, typer.Option("-n", metavar="N", help="How many runs.")] = 1000,
    seed: Annotated[str, typer.Option("--seed", help="The same seed gives the same runs.")] = "0",
    inputs: Annotated[
        list[str] | None, typer.Option("-i", metavar="TEXT", help="The task, or key=value.")
    ] = None,
    input_json: InputObject = None,
    changes: Changes = None,
    compat: Compat = None,
    functions: Functions = None,  # noqa: ARG001
    as_json: Annotated[bool, typer.Option("--json", help="Print it all as JSON.")] = False,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="OUT.svg", help="Draw the distributions.")
    ] = None,
) -> int:
    """Run a graph many times on simulated models: rounds, exit reasons, cost, what is never taken.

    Scores vary around those the graph configures; people are simulated too.
    """
    if plot is not None and Path(plot).suffix != ".svg":
        raise CallError(f"--plot {plot!r}: the picture is SVG; name it something.svg")
    changed = [parse_change(change) for change in changes or []]
    opener = partial(open_simulated, file, changed, compat)
    opener()  # what is wrong with the graph is told before anything runs
    progress = ProgressLine(count) if sys.stderr.isatty() else None
    found = simulated(
        opener,
        count,
        seed,
        merged(parse_inputs(inputs or []), parse_object(input_json or "{}")) or None,
        told=progress.tell if progress else lambda _done: None,
    )
    if plot is not None:
        Path(plot).write_text(svg_of(found), "utf-8")
    if as_json:
        print(json_line(simulation_json(found)))
    else:
        _print(found)
    return 0


def open_simulated(file: str, changes: Sequence[Change] = (), compat: str | None = None) -> Graph:
    """The graph with every agent on simulated models."""
    return open_graph(file, changes, "simulated", compat, demand_secrets=False).graph


class ProgressLine:
    """A progress line on the terminal."""

    def __init__(self, count: int) -> None:
        self._count = count

    def tell(self, done: int) -> None:
        """Show that so many runs are finished."""
        end = "\n" if done >= self._count else ""
        line = words("{done:,} of {count:,} runs", done=done, count=self._count)
        print(f"\r{line}", end=end, file=below(sys.stderr), flush=True)


# For people


def _print(found: Simulation) -> None:
    total = len(found.runs)
    title = "{total:,} runs of {graph} on simulated models, seed {seed}"
    print(words(title, total=total, graph=found.plan.spec.id, seed=found.seed))
    _line(words("ended"), _shares(dict(found.statuses), total))
    for failure, _ in found.failures.most_common(1):
        _line(words("failed"), translated(failure))
    _print_loops(found)
    for name, values in (
        (words("calls"), [float(run.calls) for run in found.runs]),
        (words("tokens"), [float(run.tokens) for run in found.runs]),
    ):
        _line(name, _spread(distribution_of(values), "{:,.0f}".format))
    usd = distribution_of([run.usd for run in found.runs])
    _line(words("cost"), _spread(usd, money))
    for missed in found.missed:
        _line(words("never"), _missed_text(found, missed))
    if not found.missed:
        print(words("every edge was taken"))


def _line(name: str, text: str) -> None:
    print(f"{wide(name, 9)} {text}")


def _print_loops(found: Simulation) -> None:
    rows = []
    for head in found.heads:
        rounds = found.rounds(head)
        figures = distribution_of(rounds)
        reasons = _shares(dict(found.reasons(head).most_common()), len(rounds))
        low, high = f"{figures.min:g}", f"{figures.max:g}"
        rows.append((head, low, f"{figures.mean:.1f}", f"{figures.p90:g}", high, reasons))
    if rows:
        print_table(LOOPS, rows, LOOPS[1:5])


def _shares(counts: dict[str, int], total: int) -> str:
    return words(", ").join(f"{name} {100 * count / total:.0f} %" for name, count in counts.items())


def _spread(figures: Distribution, written: Callable[[float], str]) -> str:
    return words(
        "mean {mean}, 90 % up to {p90}, most {most}",
        mean=written(figures.mean),
        p90=written(figures.p90),
        most=written(figures.max),
    )


def _missed_text(found: Simulation, missed: Missed) -> str:
    fields = edge_json(found, missed.edge.index)
    label = f" ({fields['label']})" if fields["label"] else ""
    edge = f"{fields['from']} -> {fields['to']}{label}"
    told = "{edge}, condition {condition}: no run took it"
    if missed.reached_by is not None:
        told = "{edge}, condition {condition}: only with {inputs}"
    inputs = json_line(missed.reached_by)
    return words(told, edge=edge, condition=fields["condition"], inputs=inputs)
