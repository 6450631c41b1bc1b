"""`rondel estimate`, `rondel simulate`: what a run takes, before there is one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rondel.cli.arguments import merged, parse_change, parse_inputs, parse_object
from rondel.cli.cells import wide
from rondel.cli.check import UNBOUNDED, write_drawing
from rondel.cli.database import open_existing
from rondel.cli.graph_files import open_graph
from rondel.cli.language import translated, words
from rondel.cli.options import AsDocument, Changes, Compat, Db, File, Functions, InputObject, Inputs
from rondel.cli.screen import below
from rondel.cli.tables import json_line, print_table
from rondel.cli.views import money
from rondel.errors import CallError
from rondel.forecast.estimate import Estimate, RunCost
from rondel.forecast.estimate import estimate as estimated
from rondel.forecast.figures import Distribution, distribution_of, edge_json, simulation_json
from rondel.forecast.plot import svg_of
from rondel.forecast.simulation import Missed, Simulation
from rondel.forecast.simulation import simulate as simulated

LOOPS = ("LOOP", "LEAST", "MEAN", "90 %", "MOST", "WHY IT ENDED")


def estimate(
    file: File,
    as_json: AsDocument = False,
    changes: Changes = None,
    compat: Compat = None,
    functions: Functions = None,  # noqa: ARG001
    db: Db = None,
) -> int:
    """Tell the worst case and the expected case of a run: model calls, tokens, cost.

    What is expected comes from past sessions of the graph, where there are any, else from
    simulated runs at the prices of the models that the graph names.
    """
    changed = [parse_change(change) for change in changes or []]
    opener = partial(open_graph, file, changed, compat=compat, demand_secrets=False)
    graph = opener()
    store = open_existing(db).store
    try:
        found = estimated(graph, opener, store)
    finally:
        store.close()
    if as_json:
        print(json_line(found))
    else:
        _print_estimate(found)
    return 0


def _print_estimate(found: Estimate) -> None:
    rows = [
        (words("worst case"), *_cells(found.worst_case)),
        (words("expected"), *_cells(found.expected)),
    ]
    print_table(
        ("", "MODEL CALLS", "TOKENS", "COST"), rows, right=("MODEL CALLS", "TOKENS", "COST")
    )
    print(words("expected from {source}", source=translated(found.source)))
    for node in found.growing:
        growing = (
            "{node} sends its whole history again in every round: its tokens grow with the "
            "square of the rounds; set carry on the loop, or a context_window"
        )
        print(words(growing, node=repr(node)))


def _cells(cost: RunCost) -> tuple[str, str, str]:
    calls, tokens, usd = cost.model_calls, cost.tokens, cost.usd
    return (
        words(UNBOUNDED) if calls is None else f"{calls:,.0f}",
        words(UNBOUNDED) if tokens is None else f"{tokens:,.0f}",
        words(UNBOUNDED) if usd is None else money(usd),
    )


def simulate(
    file: File,
    count: Annotated[int, typer.Option("-n", metavar="N", help="How many runs.")] = 1000,
    seed: Annotated[str, typer.Option("--seed", help="The same seed gives the same runs.")] = "0",
    inputs: Inputs = None,
    input_json: InputObject = None,
    changes: Changes = None,
    compat: Compat = None,
    functions: Functions = None,  # noqa: ARG001
    as_json: AsDocument = False,
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
    opener = partial(open_graph, file, changed, "simulated", compat, demand_secrets=False)
    opener()  # what is wrong with the graph is told before anything runs
    found = simulated(
        opener,
        count,
        seed,
        merged(parse_inputs(inputs or []), parse_object(input_json or "{}")) or None,
        told=partial(_tell_progress, count) if sys.stderr.isatty() else lambda _done: None,
    )
    if plot is not None:
        write_drawing("--plot", plot, svg_of(found))
    if as_json:
        print(json_line(simulation_json(found)))
    else:
        _print_simulation(found)
    return 0


def _tell_progress(count: int, done: int) -> None:
    """Show on the terminal that `done` of the runs are finished."""
    end = "\n" if done >= count else ""
    line = words("{done:,} of {count:,} runs", done=done, count=count)
    print(f"\r{line}", end=end, file=below(sys.stderr), flush=True)


def _print_simulation(found: Simulation) -> None:
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
