"""Delivers a control and tells a person what became of it."""

from __future__ import annotations

from typing import Any

from rondel.cli.language import words
from rondel.sessions.controls import AnyControl
from rondel.sessions.delivery import Delivered
from rondel.sessions.session import Session

PATIENCE = 10.0
"""Seconds that another process has to take a control."""


async def deliver(session: Session, control: AnyControl, *, run: bool = False) -> Delivered:
    """Have a control carried out or recorded; a process that does not listen keeps it."""
    return await session.control(control, run=run, patience=PATIENCE)


def say(
    session: Session, delivered: Delivered, done: str, nothing: str, go_on: str = "", **values: Any
) -> None:
    """Tell a person what became of it, in sentences with a place for the session's `id`."""
    if delivered.changed and not delivered.taken:
        told = "left for {driver}, which has not acted on it yet; session {id}"
        print(words(told, driver=delivered.driver, id=session.id))
        return
    text = words(done if delivered.changed else nothing, id=session.id, **values)
    if delivered.changed and delivered.driver:
        text += words(" (by {driver})", driver=delivered.driver)
    print(text + (words("; go on with: {command}", command=go_on) if go_on else ""))
