"""Writing a session down: its ticks, its status, and now and then a snapshot."""

from __future__ import annotations

from asyncio import get_running_loop
from threading import get_ident
from typing import Any

from rondel.engine import ticks
from rondel.engine.core.snapshot import dump
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.shell.guard import SessionGuard
from rondel.engine.shell.stepper import Recorder
from rondel.errors import Unstorable
from rondel.journal.store import Durable, Store
from rondel.sessions.deadlines import due_at
from rondel.sessions.events import Narrator
from rondel.sessions.lease import DrivenLease
from rondel.sessions.stream import Audience

SNAPSHOT_EVERY = 2000
"""Ticks between snapshots of a small state; a large one is written less often."""

SNAPSHOTS_OF_A_PAST = 100
"""The longer a past is, the further apart its snapshots; any point is so near to one of them."""

SNAPSHOT_BYTES_PER_TICK = 64
"""What snapshots may add to the journal, on average."""

NEVER = 1 << 60
"""More ticks than a session can have."""


class SessionRecorder(Recorder):
    """Owns what the store has of a session that is driven here, from its last tick on.

    Those who watch are told of it, and of what happens in steps and is not stored.
    """

    __slots__ = (
        "_append",
        "_audience",
        "_due",
        "_guard",
        "_id",
        "_lease",
        "_letter",
        "_loop",
        "_next_snapshot",
        "_own_thread",
        "_state",
        "_status",
        "_store",
        "_told",
        "length",
    )

    def __init__(
        self,
        id: str,
        store: Store,
        state: SessionState,
        guard: SessionGuard | None,
        lease: DrivenLease | None,
        audience: Audience,
        *,
        length: int,
        status: str,
        due: float | None,
        snapshots: bool,
    ) -> None:
        self._id = id
        self._store = store
        self._state = state
        self._guard = guard
        self._lease = lease
        """None where no other process can take the session."""
        self._append = store.writer(id)
        self._audience = audience
        self._told: tuple[ticks.AnyTick, Durable] | None = None
        """The tick that is recorded and not folded yet, if anybody follows."""
        self._letter: tuple[ticks.AnyTick, int] | None = None
        """A tick that a letter asked for, and the letter: both are written at once."""
        self._status = status
        """What the store has for the session's status."""
        self._due = due
        """When the session is due, as the store has it."""
        self._next_snapshot = length + SNAPSHOT_EVERY if snapshots else NEVER
        self.length = length
        """How many ticks the session has."""
        self._loop = get_running_loop()
        self._own_thread = get_ident()

    def record(self, tick: ticks.AnyTick, /) -> tuple[ticks.AnyTick, Durable]:
        """Write a tick; if its content cannot be stored, a failure of its step instead."""
        try:
            durable = self._append(tick) if self._letter is None else self._answer(tick)
        except Unstorable as error:
            if not isinstance(tick, ticks.Finished | ticks.Suspended):
                raise
            tick = ticks.Failed(tick.at, tick.step, str(error), "unstorable", list(tick.usage))
            durable = self._append(tick)
        self.length += 1
        if self._audience.followers:
            self._told = tick, durable
            if self._state.effects is not None:
                self._state.effects.clear()
        elif self._state.effects is not None:
            self._state.effects = None
        if durable is None:
            durable = self.may_begin()
        return tick, durable

    def _answer(self, tick: ticks.AnyTick) -> Durable:
        """Record a tick while a letter is carried out; the tick that it asked for removes it."""
        asked, letter = self._letter or (None, None)
        return self._store.append(self._id, tick, letter=letter if asked is tick else None)

    def expect(self, tick: ticks.AnyTick, letter: int) -> None:
        """The tick that is recorded next answers a letter."""
        self._letter = tick, letter

    def forget_letter(self) -> bool:
        """The letter was carried out; True if a tick was recorded for it, which removed it."""
        led_to_a_tick = self._letter is not None
        self._letter = None
        return led_to_a_tick

    def may_begin(self) -> Durable:
        """None while the lease is valid; awaiting anything else renews it or raises LeaseLost."""
        lease = self._lease
        return None if lease is None or lease.stands else lease

    def tell(self, step: Step, event: str, data: dict[str, Any], /) -> None:
        """Publish a live event, from any thread."""
        if not self._audience.is_there:
            return
        if get_ident() != self._own_thread:
            self._loop.call_soon_threadsafe(self.tell, step, event, data)
            return
        self._audience.hear(self.length, Narrator.live(self._id, step, event, data))

    def applied(self) -> None:
        """Note a new status; write a snapshot when it is time for one."""
        state = self._state
        if self._told is not None:
            tick, durable = self._told
            self._told = None
            self._audience.recorded(tick, durable)
        if state.status != self._status or state.questions or self._due is not None:
            self._note_status()
        if self.length >= self._next_snapshot and not state.ended:
            blob = dump(state, self._guard and self._guard.dump())
            self._store.save_snapshot(self._id, self.length, blob)
            share = self.length // SNAPSHOTS_OF_A_PAST
            pause = max(SNAPSHOT_EVERY, len(blob) // SNAPSHOT_BYTES_PER_TICK, share)
            self._next_snapshot = self.length + pause

    def _note_status(self) -> None:
        state = self._state
        due = due_at(state, self._store.now()) if state.questions else None
        if (state.status, due) != (self._status, self._due):
            self._status, self._due = state.status, due
            self._store.set_status(self._id, state.status, state.reason, due)
