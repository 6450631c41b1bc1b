"""`rondel events`, `rondel replay`: a session's past as it was told, and any point of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Any

import msgspec
import typer

from rondel.cli.cells import short
from rondel.cli.database import find, next_commands, open_existing
from rondel.cli.failures import complain
from rondel.cli.language import words
from rondel.cli.options import Db, GraphFile, Id
from rondel.cli.sessions import print_figure, print_spent, question_text
from rondel.cli.tables import json_line
from rondel.cli.views import status_text
from rondel.engine.core.state import ENDED
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator
from rondel.sessions.records import QuestionRecord, Result, questions_of, result_of
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
    printer = _print_json if as_json else _print_line
    return asyncio.run(_events(db, session, after, follow, printer))


async def _events(
    db: str | None, id: str, after: int, follow: bool, printer: Callable[[Event], None]
) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        if not follow:
            for event in told(session):
                if event.seq is not None and event.seq > after:
                    printer(event)
            return 0
        if session.status not in ENDED and engine.driver_of(session.id) is None:
            how = next_commands(session, db).resume()
            complain(f"no process drives the session now; go on with: {how}", "note")
        async for event in session.events(after):
            printer(event)
    return 0


def told(session: Session, length: int | None = None) -> Iterator[Event]:
    """The events of a session so far, or of its first ticks; nothing is run."""
    narrator = Narrator(session.id, session.plan)
    for tick in session.past.ticks(0, length):
        yield from narrator.fold(tick)


def _print_json(event: Event) -> None:
    """One event as one line of JSON."""
    print(json_line(event), flush=True)


def _print_line(event: Event) -> None:
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


def replay(
    session: Id,
    file: GraphFile = None,  # noqa: ARG001
    to: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Stop before this step's outcome, or where this round begins."
        ),
    ] = None,
    state: Annotated[
        bool, typer.Option("--state", help="Only the state there, not the events before it.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON event a line, and last the state.")
    ] = False,
    db: Db = None,
) -> int:
    """Rebuild a session up to a point, without calling a model or a function.

    Prints its events exactly as they were, and the state there. `rondel fork --at` begins at the
    same place.
    """
    return asyncio.run(_replay(db, session, to, state, as_json))


async def _replay(db: str | None, id: str, to: str | None, only_state: bool, as_json: bool) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        length = session.row.length
        if to is not None:
            length = session.past.position_of(to)
        for event in () if only_state else told(session, length):
            (_print_json if as_json else _print_line)(event)
        state = session.past.state_at(length)
        result, questions = result_of(session.id, state), questions_of(state)
    if as_json:
        print(json_line(_json(result, questions, to)))
    else:
        _print_state(result, questions, to)
    return 0


def _json(result: Result, questions: list[QuestionRecord], to: str | None) -> dict[str, Any]:
    state = msgspec.to_builtins(result)
    return {"event": "state", "at": to, **state, "questions": msgspec.to_builtins(questions)}


def _print_state(result: Result, questions: list[QuestionRecord], to: str | None) -> None:
    state = words("the state now") if to is None else words("the state at {address}", address=to)
    print(f"\n{state}")
    print_figure("status", status_text(result))
    print_spent(result)
    for question in questions:
        print_figure("question", question_text(question))
    if result.output is not None:
        print(f"{words('output')}\n\n{result.output}")
