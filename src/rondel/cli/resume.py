"""`rondel resume`: go on with a session, after a pause or after its process is gone."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from rondel.cli.database import find, next_commands
from rondel.cli.foreground import Foreground, demand_free, hand_over
from rondel.cli.language import words
from rondel.cli.options import (
    AllowCommands,
    AllowPython,
    AsEvents,
    By,
    Db,
    Debug,
    Functions,
    GivenAnswers,
    GraphFile,
    Id,
    NoInput,
    StrictCode,
    asker,
)
from rondel.cli.terminal_session import past_of
from rondel.sessions.controls import Resume


def resume(
    session: Id,
    file: GraphFile = None,
    answers: GivenAnswers = None,
    free: Annotated[
        bool, typer.Option("--free", help="Do not pause after rounds any more.")
    ] = False,
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
    """Go on with a session here, with live progress: after a pause, a failed step, a crash, a kill.

    Finished steps do not run again; the one that failed does. One that pauses after each round
    goes on for one, or with --free without further stops. Of a session that is over it prints
    what became of it. Exit codes as those of rondel run.
    """
    foreground = Foreground(
        db, as_json, no_input, debug, answers or [], allow_python, allow_commands, strict_code
    )
    control = Resume(asker(by), free)
    return asyncio.run(_resume(session, file, control, foreground))


async def _resume(id: str, file: str | None, control: Resume, foreground: Foreground) -> int:
    async with foreground.open() as engine:
        session = find(engine, id)
        if session.is_over:
            return foreground.report(session)
        demand_free(engine, session, foreground.db)
        hand_over(
            session,
            file,
            next_commands(session, foreground.db).resume(),
            strict=foreground.strict_code,
        )
        foreground.answers_for(session.graph)
        past = past_of(engine, session)
        await session.resume(control.by, free=control.free)
        return await foreground.show(
            engine, session, words("resuming {graph}", graph=session.origin.graph_id), past
        )
