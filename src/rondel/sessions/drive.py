"""A session in the hands of this process: its state, its runner, and its lease."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rondel.engine import ticks
from rondel.engine.core.fold import apply
from rondel.engine.core.snapshot import load
from rondel.engine.core.state import SessionState
from rondel.engine.emit import Emit
from rondel.engine.shell.alarms import Alarms
from rondel.engine.shell.binding import Binding
from rondel.engine.shell.guard import SessionGuard
from rondel.engine.shell.runner import Runner
from rondel.errors import RondelError
from rondel.graph.plan import Plan
from rondel.journal.store import Durable, Lease, SessionRow, Store
from rondel.sessions.controls import REFUSALS, AnyControl, Expire, from_letter, refusal_of
from rondel.sessions.expectation import Expected
from rondel.sessions.labels import DEBUG
from rondel.sessions.lease import Clocks, DrivenLease
from rondel.sessions.recorder import SessionRecorder
from rondel.sessions.stream import Audience


class Folded(NamedTuple):
    """A session's state, and how many ticks it has."""

    state: SessionState
    length: int


def fold(store: Store, id: str, plan: Plan, guard: SessionGuard | None = None) -> Folded:
    """A session as its journal has it, from its latest snapshot on; its guard learns it too."""
    state, length = SessionState(plan), 0
    snapshot = store.latest_snapshot(id)
    if snapshot is not None:
        try:
            known = load(state, snapshot[1])
            length = snapshot[0]
            if guard is not None and known is not None:
                guard.load(known)
        except ValueError:
            state = SessionState(plan)
    for batch in store.scan(id, length):
        for tick in batch:
            if guard is not None and isinstance(tick, ticks.Finished):
                guard.weigh(state, tick)
            apply(state, tick)
            if guard is not None:
                guard.learn(state, tick)
        length += len(batch)
    return Folded(state, length)


class Drive:
    """Owns a session that this process drives: its state, its runner and its record."""

    __slots__ = (
        "_reading",
        "_recorder",
        "_runner",
        "_store",
        "driven_lease",
        "session",
        "state",
        "was_stale",
    )

    def __init__(
        self,
        id: str,
        store: Store,
        binding: Binding,
        audience: Audience,
        guard: SessionGuard | None,
        alarms: Alarms,
        clocks: Clocks,
        *,
        lease: Lease | None,
        driven_lease: DrivenLease | None,
        snapshots: bool,
    ) -> None:
        if lease is None:  # it is new
            state, length, status, due = SessionState(binding.plan), 0, "pending", None
        else:
            state, length = fold(store, id, binding.plan, guard)
            status, due = lease.status, lease.due
        self.session = id
        self.driven_lease = driven_lease
        """The lease; None for a store in memory, where no other process can take the session."""
        self.state = state
        self.was_stale = status != state.status
        """Whether the last process died between a tick and the note of what it led to."""
        self._store = store
        self._reading = False
        self._recorder = SessionRecorder(
            id,
            store,
            state,
            guard,
            driven_lease,
            audience,
            length=length,
            status=status,
            due=due,
            snapshots=snapshots,
        )
        now = clocks.clock_of(id, state)
        self._runner = Runner(id, state, binding, now, alarms, guard, self._recorder, audience)
        if lease is not None:
            self._recorder.applied()

    @property
    def length(self) -> int:
        """How many ticks the session has."""
        return self._recorder.length

    @property
    def driving(self) -> bool:
        """Whether a task is driving the session now."""
        return self._runner.driving

    def begin(self, row: SessionRow, expected: Expected) -> Durable:
        """Start the session; it goes on when somebody drives it."""
        debug = row.labels.get(DEBUG, [])
        return self._runner.begin(lambda now: ticks.Started(now, row.inputs, *expected, debug))

    def go_on(self, park: Callable[[Drive], None]) -> None:
        """Drive the session, and call `park` when nothing is under way here any more."""
        self._runner.drive(partial(park, self))

    def raise_if_broken(self) -> None:
        """Raise what ended the driver, if it did not end by itself."""
        self._runner.raise_if_broken()

    async def drain(self) -> None:
        """Begin no further step, and wait for those under way."""
        await self._runner.drain()

    async def close(self) -> None:
        """Stop driving without a trace."""
        await self._runner.close()

    # Controls

    async def speak_for(self, address: str, outcome: Emit) -> None:
        """Record the outcome of a step without running its node; nobody drives the session yet."""
        step = next(step for step in self.state.steps.values() if step.address == address)
        await self._runner.speak_for(step, outcome)

    async def carry_out(self, control: AnyControl) -> bool:
        """Record a control and act on it; False if there was nothing to do."""
        changed = False

        def tick(now: float) -> ticks.AnyTick | None:
            nonlocal changed
            asked = control.tick(self.session, self.state, now)
            changed = asked is not None
            return asked

        await self._runner.control(tick)
        return changed

    async def expire(self) -> None:
        """Settle every question whose deadline has passed."""
        while (deadline := self.state.next_deadline) is not None and deadline <= self._runner.now():
            await self.carry_out(Expire())

    async def read_letters(self) -> None:
        """Carry out what other processes asked for, and tell them what became of it."""
        if self._reading:
            return
        self._reading = True
        try:
            for letter in self._store.letters(self.session):
                refusal = ""
                try:
                    await self._carry_out(letter.number, from_letter(letter.control))
                except REFUSALS as error:
                    refusal = refusal_of(error)
                except RondelError:
                    return  # the session is not this process's any more, or cannot be written
                if not self._recorder.forget_letter():
                    self._store.reply(self.session, letter.number, refusal)
        finally:
            self._reading = False
            self._recorder.forget_letter()

    async def _carry_out(self, letter: int, control: AnyControl) -> None:
        def tick(now: float) -> ticks.AnyTick | None:
            self._recorder.forget_letter()
            asked = control.tick(self.session, self.state, now)
            if asked is not None:
                self._recorder.expect(asked, letter)
            return asked

        await self._runner.control(tick)
