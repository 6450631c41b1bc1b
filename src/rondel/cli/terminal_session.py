"""A session in this terminal: shown live, with questions asked and Ctrl-C handled."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rondel.cli.arguments import Answers
from rondel.cli.keyboard import Keyboard
from rondel.cli.language import words
from rondel.cli.live.session_now import SessionNow
from rondel.cli.views import View
from rondel.engine.core.loops import ROUND_END
from rondel.errors import RondelError, WrongState
from rondel.sessions.engine import Engine
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator
from rondel.sessions.records import Result
from rondel.sessions.session import Session

PARKED = ("waiting", "suspended_locked", "paused")
NEXT_ROUND = "Enter for the next round, f for all that follow"
FREE = ("f", "free")
LOOK = 0.2
"""Seconds between looks whether somebody else has answered."""

GRACE = 0.5
"""Seconds that an interrupted session has to say its last word."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a session that has been shown: events up to a number."""

    seq: int = 0
    questions: list[Event] = field(default_factory=list)
    """The open questions, which must be shown again."""
    current: SessionNow = field(default_factory=SessionNow)
    """What was under way."""

    def answered(self, node: str | None) -> Shown:
        """A copy without the node's oldest question: if it is asked again, it is a new one."""
        for question in self.questions:
            if node is None or question.node_id == node:
                return replace(self, questions=[q for q in self.questions if q is not question])
        return self


def past_of(engine: Engine, session: Session, length: int | None = None) -> Shown:
    """The past of a session so far, or its first `length` ticks."""
    narrator = Narrator(session.id, session.plan)
    asked: dict[str | None, Event] = {}
    current = SessionNow()
    for tick in engine.store.read(session.id, 0, length):
        for event in narrator.fold(tick):
            current.fold(event)
            if event.event == "human_input_required":
                asked[event.address] = event
    state = narrator.state
    still = [state.asker(number)[1] for number in state.questions]
    return Shown(narrator.seq, [asked[address] for address in still], current)


class TerminalSession:
    """Shows one session's events and answers its questions where possible."""

    def __init__(self, view: View, given: Answers, keyboard: Keyboard | None, debug: bool) -> None:
        self.unanswered: dict[str, None] = {}
        self.interrupted = False
        self._view = view
        self._given = given
        self._keyboard = keyboard
        self._debug = debug

    async def hold(self, session: Session, past: Shown, *, durable: bool) -> Result:
        """Show the session until it ends or waits for something that cannot be given here."""
        events = session.events(past.seq, debug=self._debug)  # from here on no token is missed
        showing = asyncio.ensure_future(self._show(session, past, events))
        with self._interruptible(session, showing, durable):
            try:
                await showing
            except asyncio.CancelledError:
                if not self.interrupted:
                    raise
        return session.snapshot()

    async def _show(self, session: Session, past: Shown, events: AsyncIterator[Event]) -> None:
        for question in past.questions:
            if question.address in _open(session):
                self._view.show(question)
                await self._answer(session, question)
        if self._rests(session) and not self._waits_for_enter(session):
            await self._settle(session, events)  # it came to rest before anybody looked
            return
        async for event in events:
            self._view.show(event)
            match event.event:
                case "human_input_required":
                    await self._answer(session, event)
                case "session_state_change" if self._is_parked(session, event):
                    if self._waits_for_enter(session) and await self._goes_on(session):
                        continue
                    await self._settle(session, events)
                    return

    def _is_parked(self, session: Session, event: Event) -> bool:
        """Whether nothing more will happen here; the event may be older than the session's
        state."""
        return event.data["status"] == session.status and self._rests(session)

    def _rests(self, session: Session) -> bool:
        status = session.status
        if status == "waiting":
            return {asked.node_id for asked in session.asking} <= self.unanswered.keys()
        return status in PARKED

    def _waits_for_enter(self, session: Session) -> bool:
        """Whether the session pauses for this person after each round."""
        keyboard = self._keyboard
        return keyboard is not None and keyboard.is_terminal and at_round_end(session)

    async def _goes_on(self, session: Session) -> bool:
        """Wait until somebody, here or elsewhere, starts the next round."""
        keyboard = self._keyboard
        if keyboard is None or self.interrupted:
            return False
        await session.settled()
        typed = keyboard.enter(lambda: self._view.prompt(words(NEXT_ROUND)))
        line = await self._unless(typed, lambda: not at_round_end(session))
        if line is None:
            return not at_round_end(session)
        with suppress(WrongState):  # somebody else may have been quicker
            await session.resume(free=line in FREE)
        return True

    async def _settle(self, session: Session, events: AsyncIterator[Event]) -> None:
        """Let steps under way finish, unless the person interrupted."""
        if self.interrupted:
            return
        await session.settled()
        with suppress(StopAsyncIteration, TimeoutError):
            while True:
                self._view.show(await asyncio.wait_for(anext(events), LOOK))

    # Questions

    async def _answer(self, session: Session, event: Event) -> None:
        node = str(event.node_id)
        text = self._given.next_for(node)
        typed = text is None and self._keyboard is not None and self._keyboard.is_terminal
        if text is None and self._keyboard is not None:
            text = await self._line(session, event, self._keyboard, typed)
        if event.address not in _open(session):
            return
        if text is None:
            self.unanswered[node] = None
            return
        if not typed:
            self._view.answered(node, text)
        try:
            await session.answer(text, node=node)
        except WrongState:
            if event.address in _open(session):
                raise

    async def _line(
        self, session: Session, event: Event, keyboard: Keyboard, typed: bool
    ) -> str | None:
        """A line from the keyboard, or None if the question is answered elsewhere."""
        node = str(event.node_id)
        line = keyboard.line(lambda: self._view.prompt(node) if typed else None)
        text = await self._unless(line, lambda: event.address not in _open(session))
        if text is None and event.address not in _open(session):
            self._view.withdraw(node)
        return text

    async def _unless(
        self, reading: Coroutine[Any, Any, str | None], is_settled: Callable[[], bool]
    ) -> str | None:
        """The line that is read, or None as soon as `is_settled`."""
        line = asyncio.ensure_future(reading)
        while not line.done():
            await asyncio.wait({line}, timeout=LOOK)
            if not line.done() and is_settled():
                line.cancel()
                await asyncio.wait({line})
                return None
        return line.result()

    # Interruption

    @contextmanager
    def _interruptible(
        self, session: Session, showing: asyncio.Future[None], durable: bool
    ) -> Iterator[None]:
        """The first Ctrl-C lets go of the session, or stops one that only lives here; a second
        one stops everything.
        """
        loop = asyncio.get_running_loop()
        tasks: list[asyncio.Task[None]] = []

        def interrupt() -> None:
            self.interrupted = True
            let_go = self._let_go(session, showing) if durable else self._stop(session)
            tasks.append(loop.create_task(let_go))

        def interrupted(*_: object) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            loop.call_soon_threadsafe(interrupt)

        try:
            before = {name: signal.signal(name, interrupted) for name in _SIGNALS}
        except ValueError:  # not the main thread: nobody interrupts it
            yield
            return
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)

    async def _stop(self, session: Session) -> None:
        with suppress(WrongState):  # it may just have ended
            await session.stop()
        if self._keyboard is not None:
            self._keyboard.close()

    async def _let_go(self, session: Session, showing: asyncio.Future[None]) -> None:
        if session.drive is not None and session.status == "running":
            with suppress(RondelError):  # it may just have ended, and can be resumed in any case
                await session.pause()
        if self._keyboard is not None:
            self._keyboard.close()
        await asyncio.wait({showing}, timeout=GRACE)
        showing.cancel()


def at_round_end(session: Session) -> bool:
    """Whether the session is paused because somebody looks at it round by round."""
    return session.status == "paused" and session.snapshot().reason == ROUND_END


def _open(session: Session) -> set[str]:
    """The addresses of open questions."""
    return {question.address for question in session.asking}
