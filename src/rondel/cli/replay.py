"""`rondel replay`: any point of a session's past, rebuilt from its journal alone."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
import typer

from rondel.cli.database import find, open_existing
from rondel.cli.events import print_json, print_line, told
from rondel.cli.language import words
from rondel.cli.options import Db, GraphFile, Id
from rondel.cli.show import print_figure, question_text
from rondel.cli.views import json_line, loop_text, status_text, usage_text
from rondel.sessions.records import QuestionRecord, Result, questions_of, result_of


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
        for event in () if only_state else told(engine, session, length):
            (print_json if as_json else print_line)(event)
        state = session.past.state_at(length)
        result, questions = result_of(session.id, state), questions_of(state)
    if as_json:
        print(json_line(_json(result, questions, to)))
    else:
        _print(result, questions, to)
    return 0


def _json(result: Result, questions: list[QuestionRecord], to: str | None) -> dict[str, Any]:
    state = msgspec.to_builtins(result)
    return {"event": "state", "at": to, **state, "questions": msgspec.to_builtins(questions)}


def _print(result: Result, questions: list[QuestionRecord], to: str | None) -> None:
    state = words("the state now") if to is None else words("the state at {address}", address=to)
    print(f"\n{state}")
    print_figure("status", status_text(result))
    for loop in result.loops:
        print_figure("loop", loop_text(loop))
    if result.usage.model_calls:
        print_figure("usage", usage_text(result.usage))
    for question in questions:
        print_figure("question", question_text(question))
    if result.output is not None:
        print(f"{words('output')}\n\n{result.output}")
