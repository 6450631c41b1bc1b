"""`rondel signal`: tell a session something that its later steps can read."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from rondel.cli.arguments import parse_value
from rondel.cli.database import find, open_existing
from rondel.cli.delivery import deliver, say
from rondel.cli.options import By, Db, Debug, Id, asker
from rondel.sessions.controls import Signal


def signal(
    session: Id,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the signal is called.")],
    data: Annotated[
        str | None, typer.Argument(metavar="[JSON]", help="What it carries: JSON, or plain text.")
    ] = None,
    by: By = None,
    db: Db = None,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Tell a session something, wherever it is driven; steps that start later can read it."""
    return asyncio.run(_signal(db, session, name, data, asker(by)))


async def _signal(db: str | None, id: str, name: str, data: str | None, by: str) -> int:
    value: Any = None if data is None else parse_value(data)
    async with open_existing(db) as engine:
        session = find(engine, id)
        delivered = await deliver(session, Signal(by, name, value))
        told = "session {id} has the signal {name}", "session {id} has the signal {name} already"
        say(session, delivered, *told, name=repr(name))
    return 0
