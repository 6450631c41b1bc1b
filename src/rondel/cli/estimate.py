"""`rondel estimate`: what a run takes at most, and what is to be expected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer

from rondel.cli.arguments import parse_change
from rondel.cli.certificates import UNBOUNDED
from rondel.cli.database import open_existing
from rondel.cli.graph_files import Change, open_graph
from rondel.cli.language import translated, words
from rondel.cli.options import Changes, Compat, Db, Functions
from rondel.cli.tables import print_table
from rondel.cli.views import json_line, money
from rondel.forecast.estimate import Amounts, Estimate
from rondel.forecast.estimate import estimate as estimated
from rondel.sessions.graph import Graph


def estimate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A graph: YAML, JSON, or Python with a `graph`.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
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
    opener = partial(_opened, file, changed, compat)
    graph = opener()
    store = open_existing(db).store
    try:
        found = estimated(graph, opener, store)
    finally:
        store.close()
    if as_json:
        print(json_line(found))
    else:
        _print(found)
    return 0


def _opened(file: str, changes: Sequence[Change], compat: str | None) -> Graph:
    return open_graph(file, changes, compat=compat, demand_secrets=False).graph


def _print(found: Estimate) -> None:
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


def _cells(amounts: Amounts) -> tuple[str, str, str]:
    calls, tokens, usd = amounts.model_calls, amounts.tokens, amounts.usd
    return (
        words(UNBOUNDED) if calls is None else f"{calls:,.0f}",
        words(UNBOUNDED) if tokens is None else f"{tokens:,.0f}",
        words(UNBOUNDED) if usd is None else money(usd),
    )
