"""`rondel events`: what happened in a session, and what happens now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Any

import typer

from rondel.cli.database import find, next_commands, open_existing
from rondel.cli.failures import complain
from rondel.cli.options import Db, Id
from rondel.cli.tables import short
from rondel.cli.views import json_line
from rondel.engine.core.state import ENDED
from rondel.sessions.engine import Engine
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator
from rondel.sessions.session import Session


def events(
    session: Id,
    after: Annotated[
        int, typer.Option(metavar="N", min=0, help="Only those after event number N.")
    ] = 0,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the session ends.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON event a line.")] = False,
    db: Db = None,
) -> int:
    """Print a session's events: those there are, or with --follow all until it ends."""
    printer = print_json if as_json else print_line
    return asyncio.run(_events(db, session, after, follow, printer))


async def _events(
    db: str | None, id: str, after: int, follow: bool, printer: Callable[[Event], None]
) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        if not follow:
            for event in told(engine, session):
                if event.seq is not None and event.seq > after:
                    printer(event)
            return 0
        if session.status not in ENDED and engine.driver_of(session.id) is None:
            how = next_commands(session, db).resume()
            complain(f"no process drives the session now; go on with: {how}", "note")
        async for event in session.events(after):
            printer(event)
    return 0


def told(engine: Engine, session: Session, length: int | None = None) -> Iterator[Event]:
    """The events of a session so far, or of its first ticks; nothing is run."""
    narrator = Narrator(session.id, session.plan)
    left = session.row.length if length is None else length
    for batch in engine.store.scan(session.id):
        for tick in batch[:left]:
            yield from narrator.tell(tick)
        left -= len(batch)
        if left <= 0:
            return


def print_json(event: Event) -> None:
    """One event as one line of JSON."""
    print(json_line(event), flush=True)


def print_line(event: Event) -> None:
    """One event for people: number, time, what, where, and the figures."""
    time = datetime.fromisoformat(event.timestamp).astimezone().strftime("%H:%M:%S")
    figures = ", ".join(
        f"{key}: {_value(value)}" for key, value in event.data.items() if _says(value)
    )
    seq = "" if event.seq is None else str(event.seq)
    line = f"{seq:>5}  {time}  {event.event:22}  {event.address or '':20}  {figures}"
    print(line.rstrip(), flush=True)


def _says(value: Any) -> bool:
    return value is not None and value not in ("", [], {})


def _value(value: Any) -> str:
    return short(value if isinstance(value, str) else json_line(value), 60)
