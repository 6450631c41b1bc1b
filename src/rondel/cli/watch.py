"""`rondel watch`: a session that any process drives, as `rondel run` would show it."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from rondel.cli.database import find, next_commands, open_existing
from rondel.cli.failures import complain
from rondel.cli.foreground import EXIT_CODES, STOPPED, Foreground, tell_failure
from rondel.cli.language import words
from rondel.cli.live.view import view_for
from rondel.cli.options import Db, Id
from rondel.cli.terminal_session import past_of
from rondel.cli.views import PlainView, content_text
from rondel.engine.core.state import ENDED
from rondel.sessions.agents import AGENT
from rondel.sessions.engine import Engine
from rondel.sessions.event import Event
from rondel.sessions.session import Session

RECENT = 50
"""How many of the newest steps are looked through for one that has just ended."""


def watch(session: Id, db: Db = None) -> int:
    """Follow a session until it ends, whichever process drives it, in the view of rondel run.

    It begins with what was under way, and changes nothing: questions are shown, and answered
    elsewhere (rondel answer). Ctrl-C leaves the session as it is. Exit codes as those of
    rondel run.
    """
    try:
        return asyncio.run(_watch(session, db))
    except KeyboardInterrupt:
        complain(words("no longer watching; the session goes on as it did"), "note")
        return STOPPED


async def _watch(id: str, db: str | None) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        if session.status in ENDED:
            return Foreground(db=db).report(session)
        view = view_for(session.plan)
        try:
            await _follow(engine, session, view, db)
        finally:
            view.pause()
        result = session.snapshot()
        view.close(result)
        tell_failure(result)
        return EXIT_CODES[result.status]


async def _follow(engine: Engine, session: Session, view: PlainView, db: str | None) -> None:
    how = next_commands(session, db)
    past = past_of(engine, session)
    title = words("watching {graph}, session {id}", graph=session.origin.graph_id, id=session.id)
    view.open(title, simulated=False, past=past.current)
    if session.status == "running" and engine.driver_of(session.id) is None:
        command = how.resume()
        complain(words("no process drives the session now; {go_on}", go_on=_on(command)), "note")
    for question in past.questions:
        view.show(question)
    status = session.status
    if status == "suspended_locked":
        complain(words("the session is locked; open it with: {command}", command=how.unlock()))
    elif status == "paused":
        complain(words("the session is paused; {go_on}", go_on=_on(how.resume())), "note")
    async for event in session.events(past.seq):
        if said := _said(session, event):
            view.show(said)
        view.show(event)
        if event.event == "human_input_required":
            answer = how.answer(str(event.node_id))
            complain(words("give an answer with: {command}", command=answer), "note")


def _said(session: Session, event: Event) -> Event | None:
    """The answer of an agent whose step is over; its tokens are streamed only where it runs."""
    is_over = event.event == "node_state_change" and event.data["status"] == "completed"
    node = session.plan.node(str(event.node_id)) if is_over else None
    if node is None or node.spec.type != AGENT:
        return None
    for step in reversed(session.steps(last=RECENT)):
        if step.address == event.address and step.outputs:
            chunk = {"chunk": content_text(step.outputs[-1])}
            return replace(event, seq=None, event="token_stream", data=chunk)
    return None


def _on(command: str) -> str:
    return words("go on with: {command}", command=command)
