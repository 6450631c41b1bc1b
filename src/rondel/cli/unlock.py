"""`rondel unlock`: open the lock of a session, and go on with it."""

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
from rondel.errors import CallError, WrongState
from rondel.sessions.controls import Unlock
from rondel.sessions.session import Session

CHECKS = 3


def unlock(
    session: Id,
    file: GraphFile = None,
    because: Annotated[
        str, typer.Option(metavar="TEXT", help="Why it is right to go on; it is recorded.")
    ] = "",
    checked: Annotated[
        bool, typer.Option("--checked", help="You have made the three safety checks.")
    ] = False,
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
    """Open a session's lock, with a reason or after the safety checks.

    If no other process drives the session it goes on here, at the very step where it stopped,
    and the exit codes are those of rondel run.
    """
    if not because.strip() and not checked:
        raise CallError("to unlock, say why (--because TEXT) or confirm the checks (--checked)")
    foreground = Foreground(
        db, as_json, no_input, debug, (), allow_python, allow_commands, strict_code
    )
    control = Unlock(asker(by), because, [True] * CHECKS if checked else [])
    return asyncio.run(_unlock(session, control, no_run, graph or file, foreground))


async def _unlock(
    id: str, control: Unlock, no_run: bool, graph: str | None, foreground: Foreground
) -> int:
    async with foreground.open() as engine:
        session = find(engine, id)
        how = next_commands(session, foreground.db)
        _demand_locked(session)
        runs = not no_run and not engine.driver_of(session.id)
        past = Shown()
        if runs:
            hand_over(session, graph, how.unlock(), strict=foreground.strict_code)
            past = past_of(engine, session)
        delivered = await deliver(session, control, run=runs)
        if not runs or delivered.driver is not None:
            on = how.resume() if delivered.changed and not delivered.driver else ""
            told = "session {id} is unlocked", "session {id} is not locked"
            say(session, delivered, *told, on)
            return 0
        return await foreground.show(
            engine, session, words("resuming {graph}", graph=session.origin.graph_id), past
        )


def _demand_locked(session: Session) -> None:
    """Raise WrongState if the session is not locked, before anything is started here."""
    status = session.snapshot().status
    if status != "suspended_locked":
        raise WrongState(f"session {session.id} is {status}; there is no lock to open")
