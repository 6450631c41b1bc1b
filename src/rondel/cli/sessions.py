"""`rondel sessions`: the sessions there are."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from rondel.cli.database import open_existing
from rondel.cli.language import words
from rondel.cli.options import AsDocument, Db
from rondel.cli.session_json import document, driver_text, row_json
from rondel.cli.tables import moment, print_table, short
from rondel.cli.views import json_line
from rondel.errors import CallError
from rondel.graph.names import Names
from rondel.journal.store import Page

STATUSES = (
    "pending",
    "running",
    "paused",
    "waiting",
    "suspended_locked",
    "completed",
    "bounded",
    "failed",
    "cancelled",
)


def sessions(
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only those in this state.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option(metavar="ID", help="Only those of this graph.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many at most.")] = 20,
    before: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="The page after the one that named it.")
    ] = None,
    as_json: AsDocument = False,
    db: Db = None,
) -> int:
    """List sessions, newest first.

    --json prints {"sessions": [...], "next": CURSOR or null}.
    """
    if status is not None and status not in STATUSES:
        hint = Names(STATUSES, what="there are").hint(status)
        raise CallError(f"--status: there is no state {status!r}; {hint}")
    return asyncio.run(_sessions(db, (status, graph, before, limit), as_json))


async def _sessions(db: str | None, wanted: tuple[Any, ...], as_json: bool) -> int:
    async with open_existing(db) as engine:
        page = engine.sessions(*wanted)
        drivers = {row.id: engine.driver_of(row.id) for row in page.rows}
    if as_json:
        shown = [row_json(row, drivers[row.id]) for row in page.rows]
        print(document({"sessions": shown, "next": page.next}))
    else:
        _print(page, drivers)
    return 0


def _print(page: Page, drivers: dict[str, str | None]) -> None:
    if not page.rows:
        print(words("no sessions"))
        return
    headers = ("ID", "STATUS", "GRAPH", "CREATED", "DRIVEN BY", "INPUTS")
    lines = [
        (
            row.id,
            row.status,
            row.graph_id,
            moment(row.created_at),
            driver_text(row, drivers[row.id]),
            inputs_text(row.inputs),
        )
        for row in page.rows
    ]
    print_table(headers, lines)
    if page.next is not None:
        print("\n" + words("there are more: --before {cursor}", cursor=page.next))


def inputs_text(inputs: dict[str, Any], width: int = 60) -> str:
    """Inputs on one line."""
    if inputs.keys() == {"task"} and isinstance(inputs["task"], str):
        return short(inputs["task"], width)
    return short(json_line(inputs), width) if inputs else ""
