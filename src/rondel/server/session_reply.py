"""A session as a conversation: its reply when it ends or waits for somebody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec

from rondel.engine.core.state import ENDED
from rondel.errors import RondelError
from rondel.server.access import Caller
from rondel.server.site import Site
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator
from rondel.sessions.overview import open_questions, state_of
from rondel.sessions.records import Result
from rondel.sessions.session import Session

RESTING = frozenset({*ENDED, "waiting", "suspended_locked", "paused"})
"""States in which a session waits for somebody, or is over."""


@dataclass(frozen=True, slots=True)
class SessionReply:
    """A session's output, its question, or the reason why it has neither."""

    status: str
    text: str
    result: Result
    questions: list[dict[str, Any]]

    @property
    def is_error(self) -> bool:
        """Whether it rests without an output or a question."""
        return self.status in ("failed", "cancelled", "suspended_locked", "paused")

    def to_json(self, id: str) -> dict[str, Any]:
        """The same for programs."""
        return {
            "session_id": id,
            "status": self.status,
            "reason": self.result.reason,
            "output": self.result.output,
            "data": self.result.data,
            "loops": msgspec.to_builtins(self.result.loops),
            "usage": msgspec.to_builtins(self.result.usage),
            "questions": self.questions,
        }


@dataclass(frozen=True, slots=True)
class Told:
    """What a session has told so far."""

    last: int
    """The number of its newest event."""
    turned: int
    """The number of its newest change of status."""
    answers: list[Any]
    """What people have answered."""


def told_by(site: Site, session: Session) -> Told:
    """What there is in the journal of a session; read a long one with `Site.read`."""
    narrator = Narrator(session.id, session.plan)
    turned, answers = 0, []
    for ticks in site.engine.store.scan(session.id):
        for event in (event for tick in ticks for event in narrator.fold(tick)):
            if event.event == "session_state_change":
                turned = event.seq or 0
            elif event.event == "human_input_received":
                answers.append(event.data["answer"])
    return Told(narrator.seq, turned, answers)


async def until_rest(
    site: Site, caller: Caller, session: Session, after: int
) -> AsyncIterator[Event]:
    """The events after a number, until the session waits for somebody or is over.

    Who waits for them counts as one who reads a stream.
    """
    async with site.hub.reader():
        try:
            async for event in session.events(after):
                yield event
                if event.event == "session_state_change" and event.data["status"] in RESTING:
                    return
                if site.hub.closing or not await site.tokens.hold(caller):
                    return
        except RondelError:
            return


def session_reply(site: Site, session: Session) -> SessionReply:
    """The session's reply so far."""
    state = state_of(site.engine, session)
    result = session.snapshot()
    questions = open_questions(state)
    return SessionReply(result.status, _text(result, questions), result, questions)


def _text(result: Result, questions: list[dict[str, Any]]) -> str:
    if questions and result.status == "waiting":
        return question_text(questions[0])
    if result.status in ("completed", "bounded"):
        return result.output or ""
    why = result.message or result.reason
    return f"the session is {result.status}" + (f": {why}" if why else "")


def question_text(question: dict[str, Any]) -> str:
    """A question as a person reads it: what to look at, what is asked, and what to say."""
    shown = [str(m["content"]) for m in question["messages"] if isinstance(m["content"], str)]
    parts = [*shown, str(question["description"]).strip()]
    if question["actions"]:
        parts.append(f"({' / '.join(question['actions'])})")
    return "\n\n".join(part for part in parts if part)


def round_text(event: Event) -> str | None:
    """One line on a round that is over, or on a loop's end; None for other events."""
    data = event.data
    if event.event == "loop:round_completed":
        score = "" if data["score"] is None else f", score {data['score']:g}"
        return f"{event.address}: round {data['round']} is over{score}"
    if event.event == "loop:exited":
        return f"{event.address}: {data['exit_reason']} after {data['rounds']} rounds"
    return None
