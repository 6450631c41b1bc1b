"""A control on its way to a session: recorded here, or left for the process that drives it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from rondel.engine import ticks
from rondel.errors import WrongState
from rondel.sessions.controls import Answer, AnyControl, Pause, Resume, Signal, Stop, Unlock
from rondel.sessions.drive import fold
from rondel.sessions.engine import Engine
from rondel.sessions.session import Session

PATIENCE = 10.0
"""Seconds that another process has to take a control."""

LOOK = 0.05

TICKS: dict[type, type] = {
    Answer: ticks.Answered,
    Pause: ticks.Paused,
    Resume: ticks.Resumed,
    Stop: ticks.Stopped,
    Signal: ticks.Signalled,
    Unlock: ticks.Unlocked,
}


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of a control."""

    changed: bool = True
    """False if there was nothing to do."""
    driver: str | None = None
    """The process that it was left for."""
    taken: bool = True
    """Whether that process has acted on it yet."""


async def deliver(engine: Engine, session: Session, control: AnyControl) -> Delivered:
    """Record a control, or leave it with the process that drives the session and see it taken.

    Raises what the session says against it.
    """
    deadline = time.monotonic() + PATIENCE
    while (driver := engine.driver_of(session.id)) is not None:
        if not _would_change(engine, session, control):
            return Delivered(changed=False, driver=driver)
        before = session.row.length
        letter = await engine.post(session.id, control)
        if await _is_taken(engine, session, letter, deadline):
            return _outcome(engine, session, control, driver, before)
        if engine.driver_of(session.id) is not None:
            return Delivered(driver=driver, taken=False)
        engine.store.discard(session.id, letter)
    return Delivered(changed=await session.record(control))


async def _is_taken(engine: Engine, session: Session, letter: int, deadline: float) -> bool:
    """Wait until the letter is read; in vain if the driver leaves, or takes too long."""
    while True:
        if all(left.number != letter for left in engine.store.letters(session.id)):
            return True
        if engine.driver_of(session.id) is None or time.monotonic() > deadline:
            return False
        await asyncio.sleep(LOOK)


def _outcome(
    engine: Engine, session: Session, control: AnyControl, driver: str, before: int
) -> Delivered:
    wanted = TICKS[type(control)]
    if any(isinstance(tick, wanted) for tick in engine.store.read(session.id, before)):
        return Delivered(driver=driver)
    if _would_change(engine, session, control):
        raise WrongState(f"the {driver} refused it: session {session.id} is {session.status}")
    return Delivered(changed=False, driver=driver)


def _would_change(engine: Engine, session: Session, control: AnyControl) -> bool:
    """Whether the session as it stands takes the control; raises if it does not."""
    core = fold(engine.store, session.id, session.plan).core
    return control.tick(session.id, core, engine.clocks.of(session.id, core)()) is not None


def say(session: Session, delivered: Delivered, done: str, nothing: str) -> None:
    """Tell a person what became of it."""
    if not delivered.changed:
        print(f"session {session.id} {nothing}")
    elif not delivered.taken:
        print(f"left for {delivered.driver}, which has not acted on it yet; session {session.id}")
    else:
        by = f" (by {delivered.driver})" if delivered.driver else ""
        print(f"session {session.id} {done}{by}")
