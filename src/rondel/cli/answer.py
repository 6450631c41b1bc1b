"""`rondel answer`: answer the question that a session waits for, and go on with it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from rondel.cli.database import find, next_commands
from rondel.cli.delivery import deliver, say
from rondel.cli.foreground import Foreground, hand_over
from rondel.cli.language import words
from rondel.cli.options import (
    AllowCommands,
    AllowPython,
    AsEvents,
    By,
    Db,
    Debug,
    Functions,
    GraphFile,
    GraphOption,
    Id,
    NoInput,
    NoRun,
    StrictCode,
    asker,
)
from rondel.cli.terminal_session import Shown, past_of
from rondel.sessions.controls import Answer


def answer(
    session: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    file: GraphFile = None,
    node: Annotated[
        str | None,
        typer.Option(
            "--node", metavar="NODE", help="Whose question; default: the oldest open one."
        ),
    ] = None,
    no_run: NoRun = False,
    graph: GraphOption = None,
    as_json: AsEvents = False,
    no_input: NoInput = False,
    allow_python: AllowPython = False,
    allow_commands: AllowCommands = False,
    functions: Functions = None,  # noqa: ARG001
    strict_code: StrictCode = False,
    by: By = None,
    db: Db = None,
    debug: Debug = False,
) -> int:
    """Answer a session's open question.

    If no other process drives the session it goes on here, with live progress, and the exit
    codes are those of rondel run.
    """
    foreground = Foreground(
        db, as_json, no_input, debug, (), allow_python, allow_commands, strict_code
    )
    control = Answer(asker(by), text, node)
    return asyncio.run(_answer(session, control, no_run, graph or file, foreground))


async def _answer(
    id: str, control: Answer, no_run: bool, graph: str | None, foreground: Foreground
) -> int:
    async with foreground.open() as engine:
        session = find(engine, id)
        how = next_commands(session, foreground.db)
        runs = not no_run and not engine.driver_of(session.id)
        past = Shown()
        if runs:
            hand_over(session, graph, how.answer(control.node), strict=foreground.strict_code)
            past = past_of(engine, session).answered(control.node)
        delivered = await deliver(session, control, run=runs)
        if not runs or delivered.driver is not None:
            on = how.resume() if delivered.changed and not delivered.driver else ""
            told = "session {id} is answered", "session {id} is answered already"
            say(session, delivered, *told, on)
            return 0
        return await foreground.show(
            engine, session, words("resuming {graph}", graph=session.origin.graph_id), past
        )
