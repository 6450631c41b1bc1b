"""The one way in which a control reaches a session and its sender learns the outcome."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rondel.engine import ticks
from rondel.engine.core.fold import apply
from rondel.engine.core.state import SessionState
from rondel.errors import SessionBusy
from rondel.journal.store import finish
from rondel.sessions.controls import (
    REFUSALS,
    AnyControl,
    Pause,
    Resume,
    Stop,
    raise_refusal,
    refusal_of,
    to_letter,
)
from rondel.sessions.deadlines import due_at
from rondel.sessions.drive import fold

if TYPE_CHECKING:
    from rondel.sessions.local_session import LocalSession

LOOK = 0.03
"""Seconds between two looks for a reply."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The outcome of a control that was not refused."""

    changed: bool = True
    """False if there was nothing to do."""
    driver: str | None = None
    """The other process that carried it out or will, as text."""
    taken: bool = True
    """False if that process has not replied yet; the letter stays."""


class ControlDelivery:
    """Carries out a control here if the session is free, otherwise through its driver."""

    def __init__(self, session: LocalSession, patience: float | None = None) -> None:
        self._session = session
        self._sessions = session.sessions
        self._store = session.store
        self._patience = patience
        """Seconds that another process has to reply; None is without limit."""

    async def deliver(self, control: AnyControl, *, run: bool) -> Delivered:
        """Returns when it is in the journal or there was nothing to do; raises if it is refused."""
        session = self._session
        if isinstance(control, Resume) and await session.is_over_for_good():
            return Delivered(changed=False)
        session.check_alive()
        try:
            driver = self._sessions.driver_of(session.id) if session.drive is None else None
            if driver is not None:
                raise SessionBusy(f"another process drives session {session.id}: {driver}")
            # recording needs none of its functions
            records_only = session.drive is None and (not run or isinstance(control, Stop | Pause))
            done = self._record(control) if records_only else session.carry_out(control)
            return Delivered(await done)
        except SessionBusy:
            if isinstance(control, Resume):
                raise
        return await self._send(control, run)

    async def _send(self, control: AnyControl, run: bool) -> Delivered:
        """Leave a letter for the process that drives the session, and wait for its reply.

        If that process releases the session first, the letter is carried out here.
        """
        session = self._session
        driver, waited = self._sessions.driver_of(session.id), 0.0
        letter = await self.post(control)
        while (reply := self._store.reply_to(letter)) is None:
            session.check_alive()
            found = self._sessions.driver_of(session.id)
            driver = found or driver
            if found is None and await self._takes_over(control, letter, run):
                driver = None
            if self._patience is not None and waited >= self._patience:
                return Delivered(driver=driver, taken=False)
            if self._store.reply_to(letter) is None:
                await asyncio.sleep(LOOK)
                waited += LOOK
        if reply.refusal:
            raise_refusal(reply.refusal)
        return Delivered(reply.tick is not None, driver)

    async def post(self, control: AnyControl) -> int:
        """Leave a control for the process that drives the session; the number names the letter."""
        await finish(self._store.ready())
        return self._store.post(self._session.id, to_letter(control))

    async def _takes_over(self, control: AnyControl, letter: int, run: bool) -> bool:
        """If nobody drives the session any more, read its letters here, this one among them."""
        session = self._session
        with suppress(SessionBusy):
            if session.drive is not None:
                await session.notice(letters=True)
            elif run and self._sessions.graphs.can_run(session.origin):
                await session.attend()
            else:
                with suppress(*REFUSALS):  # the reply says so too
                    await self._record(control, letter)
            return True
        return False

    async def _record(self, control: AnyControl, letter: int | None = None) -> bool:
        """Record a control without going on; False if there was nothing to record.

        Nothing runs, so no function is needed. If the control came by letter, that is answered.
        """
        session = self._session
        self._sessions.acquire(session)
        state: SessionState | None = None
        try:
            if letter is not None and self._store.reply_to(letter) is not None:
                return False
            state = fold(self._store, session.id, session.plan).state
            tick = self._asked(control, state, letter)
            if tick is None:
                return False
            if state.status == "running" and not isinstance(tick, ticks.Resumed):
                await self._append(state, ticks.Resumed(tick.at))  # it was never driven
            await self._append(state, tick, letter)
            return True
        finally:
            self._sessions.release(session)
            if state is not None:
                session.mind_deadline(state)
            await session.notice(letters=False)

    def _asked(
        self, control: AnyControl, state: SessionState, letter: int | None
    ) -> ticks.AnyTick | None:
        """The tick of a control; a letter that leads to none is answered with the reason."""
        session, store = self._session, self._store
        try:
            now = self._sessions.clocks.clock_of(session.id, state)
            tick = control.tick(session.id, state, now())
        except REFUSALS as error:
            if letter is not None:
                store.reply(session.id, letter, refusal_of(error))
            raise
        if tick is None and letter is not None:
            store.reply(session.id, letter)
        return tick

    async def _append(
        self, state: SessionState, tick: ticks.AnyTick, letter: int | None = None
    ) -> None:
        apply(state, tick)
        store = self._store
        due = due_at(state, store.now())
        await finish(store.append(self._session.id, tick, state.status, state.reason, letter, due))
