"""The one way for a control to reach a session, and for its sender to learn what became of it."""

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
"""Seconds between looks what became of a letter."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of a control that was not refused."""

    changed: bool = True
    """False if there was nothing to do."""
    driver: str | None = None
    """The other process that carried it out, or will, in words."""
    taken: bool = True
    """False if that process has not replied yet: its letter lies there still."""


class ControlDelivery:
    """Has a control carried out here if the session can be had, else by the one who drives it."""

    def __init__(self, session: LocalSession, patience: float | None = None) -> None:
        self._session = session
        self._all = session.all
        self._store = session.store
        self._patience = patience
        """Seconds that another process has to reply; None is as long as it takes."""

    async def deliver(self, control: AnyControl, *, run: bool) -> Delivered:
        """Returns when it is in the journal, or there was nothing to do; raises its refusal."""
        session = self._session
        if isinstance(control, Resume) and await session.is_over_for_good():
            return Delivered(changed=False)
        session.check_alive()
        try:
            driver = self._all.driver_of(session.id) if session.drive is None else None
            if driver is not None:
                raise SessionBusy(f"another process drives session {session.id}: {driver}")
            return Delivered(await self._carry_out(control, run))
        except SessionBusy:
            if isinstance(control, Resume):
                raise
        return await self._send(control, run)

    async def _carry_out(self, control: AnyControl, run: bool) -> bool:
        session = self._session
        if session.drive is None and (not run or isinstance(control, Stop | Pause)):
            return await self._record(control)  # which takes none of its functions
        return await session.carry_out(control)

    async def _send(self, control: AnyControl, run: bool) -> Delivered:
        """Leave a letter for the process that drives the session, and wait for its reply.

        If that process lets go of the session before, the letter is carried out here.
        """
        session = self._session
        driver, waited = self._all.driver_of(session.id), 0.0
        letter = await self.post(control)
        while (reply := self._store.reply_to(letter)) is None:
            session.check_alive()
            found = self._all.driver_of(session.id)
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
        """Nobody drives the session: read its letters here, one's own among them."""
        session = self._session
        with suppress(SessionBusy):
            if session.drive is not None:
                await session.notice(letters=True)
            elif run and self._all.graphs.can_run(session.row):
                await session.attend()
            else:
                with suppress(*REFUSALS):  # the reply says so too
                    await self._record(control, letter)
            return True
        return False

    async def _record(self, control: AnyControl, letter: int | None = None) -> bool:
        """Record a control and do not go on; False if there was nothing to record.

        Nothing runs here, so no function is needed. The letter it came by, if any, is answered.
        """
        session = self._session
        self._all.take(session)
        state: SessionState | None = None
        try:
            if letter is not None and self._store.reply_to(letter) is not None:
                return False
            state = fold(self._store, session.id, session.plan).state
            tick = self._asked(control, state, letter)
            if tick is None:
                return False
            if state.status == "running" and not isinstance(tick, ticks.Resumed):
                await self._append(state, ticks.Resumed(tick.at))  # nobody ran it until now
            await self._append(state, tick, letter)
            return True
        finally:
            self._all.let_go(session)
            if state is not None:
                session.mind_deadline(state)
            await session.notice(letters=False)

    def _asked(
        self, control: AnyControl, state: SessionState, letter: int | None
    ) -> ticks.AnyTick | None:
        """The tick of a control; a letter that leads to none is told so, and why."""
        session, store = self._session, self._store
        try:
            tick = control.tick(session.id, state, self._all.clocks.of(session.id, state)())
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
