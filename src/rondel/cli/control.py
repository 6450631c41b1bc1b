"""Commands that steer a session: `answer`, `unlock`, `resume`, `fork`, `pause`, and more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from rondel.cli.arguments import parse_changes, parse_value
from rondel.cli.database import NextCommands, find, next_commands, open_existing
from rondel.cli.foreground import Foreground, answers_for, hand_over
from rondel.cli.language import words
from rondel.cli.options import (
    By,
    Db,
    GivenAnswers,
    GraphFile,
    GraphOption,
    Id,
    NoRun,
    StrictCode,
    asker,
)
from rondel.cli.terminal_session import Shown, past_of
from rondel.errors import CallError, SessionBusy, WrongState
from rondel.sessions.controls import Answer, AnyControl, Pause, Resume, Signal, Stop, Unlock
from rondel.sessions.delivery import Delivered
from rondel.sessions.engine import Engine
from rondel.sessions.session import Session

CHECKS = 3
PATIENCE = 10.0
"""Seconds that another process has to take a control; then it is left for that process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingOn(Foreground):
    """The options by which a session goes on in this terminal."""

    strict_code: StrictCode = False
    by: By = None

    def open(self) -> Engine:
        """The engine of the database, with what it may do."""
        return open_existing(self.db, self.allow_python, self.allow_commands, self.strict_code)


# Those that go on with the session here


def answer(
    session: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    file: GraphFile = None,
    *,
    node: Annotated[
        str | None,
        typer.Option(
            "--node", metavar="NODE", help="Whose question; default: the oldest open one."
        ),
    ] = None,
    no_run: NoRun = False,
    graph: GraphOption = None,
    going_on: GoingOn,
) -> int:
    """Answer a session's open question.

    If no other process drives the session it goes on here, with live progress, and the exit
    codes are those of rondel run.
    """
    control = Answer(asker(going_on.by), text, node)
    return asyncio.run(_open_up(session, control, graph or file, no_run, going_on))


def unlock(
    session: Id,
    file: GraphFile = None,
    *,
    because: Annotated[
        str, typer.Option(metavar="TEXT", help="Why it is right to go on; it is recorded.")
    ] = "",
    checked: Annotated[
        bool, typer.Option("--checked", help="You have made the three safety checks.")
    ] = False,
    no_run: NoRun = False,
    graph: GraphOption = None,
    going_on: GoingOn,
) -> int:
    """Open a session's lock, with a reason or after the safety checks.

    If no other process drives the session it goes on here, at the very step where it stopped,
    and the exit codes are those of rondel run.
    """
    if not because.strip() and not checked:
        raise CallError("to unlock, say why (--because TEXT) or confirm the checks (--checked)")
    control = Unlock(asker(going_on.by), because, [True] * CHECKS if checked else [])
    return asyncio.run(_open_up(session, control, graph or file, no_run, going_on))


async def _open_up(
    id: str, control: Answer | Unlock, file: str | None, no_run: bool, going_on: GoingOn
) -> int:
    """Answer or unlock a session, and go on with it here unless another process drives it."""
    async with going_on.open() as engine:
        session = find(engine, id)
        how = next_commands(session, going_on.db)
        if isinstance(control, Unlock):
            _demand_locked(session)
            told = "session {id} is unlocked", "session {id} is not locked"
            again = how.unlock()
        else:
            told = "session {id} is answered", "session {id} is answered already"
            again = how.answer(control.node)
        runs = not no_run and not engine.driver_of(session.id)
        past = Shown()
        if runs:
            hand_over(session, file, again, strict=going_on.strict_code)
            past = past_of(engine, session)
            if isinstance(control, Answer):
                past = past.answered(control.node)
        delivered = await session.control(control, run=runs, patience=PATIENCE)
        if runs and delivered.driver is None:
            return await going_on.show(engine, session, _title(session), past)
        resume = how.resume() if delivered.changed and not delivered.driver else ""
        say(session, delivered, *told, resume)
        return 0


def _demand_locked(session: Session) -> None:
    """Raise WrongState if the session is not locked, before anything is started here."""
    status = session.snapshot().status
    if status != "suspended_locked":
        raise WrongState(f"session {session.id} is {status}; there is no lock to open")


def resume(
    session: Id,
    file: GraphFile = None,
    *,
    answers: GivenAnswers = None,
    free: Annotated[
        bool, typer.Option("--free", help="Do not pause after rounds any more.")
    ] = False,
    no_run: NoRun = False,
    going_on: GoingOn,
) -> int:
    """Go on with a session here, with live progress: after a pause, a failed step, a crash, a kill.

    Finished steps do not run again; the one that failed does. One that pauses after each round
    goes on for one, or with --free without further stops. Of a session that is over it prints
    what became of it. Exit codes as those of rondel run.
    """
    if no_run and (file or answers):
        raise CallError("with --no-run others go on with the session: leave out FILE and --answer")
    return asyncio.run(_resume(session, file, answers or [], free, not no_run, going_on))


async def _resume(
    id: str, file: str | None, answers: list[str], free: bool, runs: bool, going_on: GoingOn
) -> int:
    async with going_on.open() as engine:
        session = find(engine, id)
        if session.is_over:
            return going_on.report(session)
        how = next_commands(session, going_on.db)
        _demand_free(engine, session, how)
        if not runs:
            delivered = await session.control(Resume(asker(going_on.by), free), run=False)
            told = "session {id} is resumed", "session {id} is under way already"
            say(session, delivered, *told, how.resume())
            return 0
        hand_over(session, file, how.resume(), strict=going_on.strict_code)
        given = answers_for(session.graph, answers)
        past = past_of(engine, session)
        await session.resume(asker(going_on.by), free=free)
        return await going_on.show(engine, session, _title(session), past, given)


def _title(session: Session) -> str:
    return words("resuming {graph}", graph=session.origin.graph_id)


def _demand_free(engine: Engine, session: Session, how: NextCommands) -> None:
    """Refuse to go on with a session that another process drives."""
    driver = engine.driver_of(session.id)
    if driver is not None:
        raise SessionBusy(
            f"another process drives session {session.id} ({driver}); "
            f"follow it with: {how.follow()}"
        )


def fork(
    session: Id,
    file: GraphFile = None,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Before this step's outcome, or where this round begins; default: where the "
            "changes first make a difference.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="What is different: inputs.KEY, nodes.ID.config.KEY, loops.HEAD.KEY, limits.KEY, "
            "breaker.KEY, answer or output.",
        ),
    ] = None,
    no_run: NoRun = False,
    answers: GivenAnswers = None,
    foreground: Foreground,
) -> int:
    """Start a new session whose past is another's up to an address, and go on with it here.

    The parent stays as it is. Exit codes as those of rondel run.
    """
    changed = parse_changes(changes or [])
    return asyncio.run(_fork(session, file, at, changed, no_run, answers or [], foreground))


async def _fork(
    id: str,
    file: str | None,
    at: str | None,
    changes: dict[str, Any],
    no_run: bool,
    answers: Sequence[str],
    foreground: Foreground,
) -> int:
    async with foreground.open() as engine:
        parent = find(engine, id)
        where = "" if at is None else f" --at {at}"
        hand_over(parent, file, f"rondel fork {parent.id} FILE.py{where}")
        given = answers_for(parent.graph, answers)
        child = await engine.fork(parent, at, changes, run=not no_run)
        title = words("fork of {parent}", parent=parent.id)
        if at is not None:
            title = words("fork of {parent} at {address}", parent=parent.id, address=at)
        if no_run:
            how = next_commands(child, foreground.db)
            told = "session {id} is a {title}; go on with: {command}"
            print(words(told, id=child.id, title=title, command=how.resume()))
            return 0
        past = past_of(engine, child, child.origin.parent_length)
        return await foreground.show(engine, child, title, past, given)


# Those that only tell the session something, wherever it is driven


def pause(
    session: Id,
    file: GraphFile = None,  # noqa: ARG001
    by: By = None,
    db: Db = None,
) -> int:
    """Pause a session, wherever it is driven: steps under way finish, no other starts."""
    told = "session {id} is paused", "session {id} is paused already"
    return asyncio.run(_deliver(db, session, Pause(asker(by)), *told))


def stop(
    session: Id,
    file: GraphFile = None,  # noqa: ARG001
    by: By = None,
    db: Db = None,
) -> int:
    """End a session for good, wherever it is driven; steps under way are cancelled."""
    told = "session {id} is cancelled", "session {id} is cancelled already"
    return asyncio.run(_deliver(db, session, Stop(asker(by)), *told))


def signal(
    session: Id,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the signal is called.")],
    data: Annotated[
        str | None, typer.Argument(metavar="[JSON]", help="What it carries: JSON, or plain text.")
    ] = None,
    by: By = None,
    db: Db = None,
) -> int:
    """Tell a session something, wherever it is driven; steps that start later can read it."""
    control = Signal(asker(by), name, None if data is None else parse_value(data))
    told = "session {id} has the signal {name}", "session {id} has the signal {name} already"
    return asyncio.run(_deliver(db, session, control, *told, name=repr(name)))


async def _deliver(
    db: str | None, id: str, control: AnyControl, done: str, nothing: str, **values: Any
) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        delivered = await session.control(control, run=False, patience=PATIENCE)
        go_on = next_commands(session, db).resume() if isinstance(control, Pause) else ""
        say(session, delivered, done, nothing, go_on, **values)
    return 0


def say(
    session: Session, delivered: Delivered, done: str, nothing: str, go_on: str = "", **values: Any
) -> None:
    """Tell a person what became of a control, in sentences with a place for the session's `id`."""
    if delivered.changed and not delivered.taken:
        told = "left for {driver}, which has not acted on it yet; session {id}"
        print(words(told, driver=delivered.driver, id=session.id))
        return
    text = words(done if delivered.changed else nothing, id=session.id, **values)
    if delivered.changed and delivered.driver:
        text += words(" (by {driver})", driver=delivered.driver)
    print(text + (words("; go on with: {command}", command=go_on) if go_on else ""))
