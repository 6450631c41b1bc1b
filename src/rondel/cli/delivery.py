"""What became of a control, told to a person."""

from __future__ import annotations

from rondel.sessions.controls import AnyControl
from rondel.sessions.delivery import Delivered
from rondel.sessions.session import Session

PATIENCE = 10.0
"""Seconds that another process has to take a control."""


async def deliver(session: Session, control: AnyControl, *, run: bool = False) -> Delivered:
    """Have a control carried out or recorded; a process that does not listen keeps it."""
    return await session.control(control, run=run, patience=PATIENCE)


def say(session: Session, delivered: Delivered, done: str, nothing: str) -> None:
    """Tell a person what became of it."""
    if not delivered.changed:
        print(f"session {session.id} {nothing}")
    elif not delivered.taken:
        print(f"left for {delivered.driver}, which has not acted on it yet; session {session.id}")
    else:
        by = f" (by {delivered.driver})" if delivered.driver else ""
        print(f"session {session.id} {done}{by}")
