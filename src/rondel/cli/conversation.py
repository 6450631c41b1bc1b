"""A session that goes on in this terminal: shown as it goes, asked for, interrupted."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rondel.cli.arguments import Answers
from rondel.cli.keyboard import Keyboard
from rondel.cli.views import View
from rondel.errors import RondelError, WrongState
from rondel.sessions.engine import Engine
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator
from rondel.sessions.records import Result
from rondel.sessions.session import Session

PARKED = ("waiting", "suspended_locked", "paused")
LOOK = 0.2
"""Seconds between looks whether somebody else has answered."""

GRACE = 0.5
"""Seconds that an interrupted session has to say its last word."""


@dataclass(frozen=True, slots=True)
class Past:
    """What of a session has been shown, or need not be: events up to a number."""

    seq: int = 0
    questions: list[Event] = field(default_factory=list)
    """Those that are still open, which must be shown again."""


def past_of(engine: Engine, session: Session, length: int | None = None) -> Past:
    """The past of a session as it stands, or after so many ticks."""
    narrator = Narrator(session.id, session.plan)
    asked: dict[str | None, Event] = {}
    for tick in engine.store.read(session.id, 0, length):
        for event in narrator.tell(tick):
            if event.event == "human_input_required":
                asked[event.address] = event
    core = narrator.core
    still = [core.asker(number)[1] for number in core.questions]
    return Past(narrator.seq, [asked[address] for address in still])


class Conversation:
    """One session, its events shown as they come, its questions answered where they can be."""

    def __init__(self, view: View, given: Answers, keyboard: Keyboard | None, debug: bool) -> None:
        self.unanswered: dict[str, None] = {}
        self.interrupted = False
        self._view = view
        self._given = given
        self._keyboard = keyboard
        self._debug = debug

    async def hold(self, session: Session, past: Past, *, durable: bool) -> Result:
        """Show the session until it is over, or until nobody here can help it on."""
        events = session.events(past.seq, debug=self._debug)  # from here on no token is missed
        showing = asyncio.ensure_future(self._show(session, past, events))
        with self._interruptible(session, showing, durable):
            try:
                await showing
            except asyncio.CancelledError:
                if not self.interrupted:
                    raise
        return session.snapshot()

    async def _show(self, session: Session, past: Past, events: AsyncIterator[Event]) -> None:
        for question in past.questions:
            if question.address in _open(session):
                self._view.show(question)
                await self._answer(session, question)
        if self._rests(session):
            await self._settle(session, events)  # it came to rest before anybody looked
            return
        async for event in events:
            self._view.show(event)
            match event.event:
                case "human_input_required":
                    await self._answer(session, event)
                case "session_state_change" if self._is_parked(session, event):
                    await self._settle(session, events)
                    return

    def _is_parked(self, session: Session, event: Event) -> bool:
        """Whether nothing more will happen here; the event may be older than the session is."""
        return event.data["status"] == session.status and self._rests(session)

    def _rests(self, session: Session) -> bool:
        status = session.status
        if status == "waiting":
            return session.questions.keys() <= self.unanswered.keys()
        return status in PARKED

    async def _settle(self, session: Session, events: AsyncIterator[Event]) -> None:
        """Let steps under way finish, as a pause promises; who interrupts does not wait."""
        if self.interrupted:
            return
        await session.settled()
        with suppress(StopAsyncIteration, TimeoutError):
            while True:
                self._view.show(await asyncio.wait_for(anext(events), LOOK))

    # Questions

    async def _answer(self, session: Session, event: Event) -> None:
        node = str(event.node_id)
        text = self._given.take(node)
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
        """A line of the keyboard, unless somebody answers the question from elsewhere."""
        node = str(event.node_id)
        line = asyncio.ensure_future(
            keyboard.line(lambda: self._view.prompt(node) if typed else None)
        )
        while not line.done():
            await asyncio.wait({line}, timeout=LOOK)
            if not line.done() and event.address not in _open(session):
                line.cancel()
                await asyncio.wait({line})
                self._view.withdraw(node)
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


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _open(session: Session) -> set[str]:
    """Where questions are open now."""
    return {question.address for question in session.asking}
