"""A session in the hands of this process: its core, its runner, and its lease."""

from __future__ import annotations

import asyncio
from threading import get_ident
from typing import Any, NamedTuple, Protocol

from rondel.engine import ticks
from rondel.engine.core.fold import Core
from rondel.engine.core.snapshot import dump, load
from rondel.engine.core.step import Step
from rondel.engine.emit import Emit
from rondel.engine.shell.binding import Binding
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.guard import Guard
from rondel.engine.shell.host import Alarms, AsyncioHost
from rondel.engine.shell.runner import Runner
from rondel.errors import RondelError, Unstorable
from rondel.graph.plan import Plan
from rondel.journal.store import Durable, SessionRow, Store
from rondel.sessions.clocks import Clocks
from rondel.sessions.controls import REFUSALS, AnyControl, Expire, from_letter, refusal_of
from rondel.sessions.events import Narrator
from rondel.sessions.expectation import Expected
from rondel.sessions.labels import DEBUG
from rondel.sessions.stream import Audience

SNAPSHOT_EVERY = 2000
"""Ticks between snapshots of a small state; a large one is written less often."""

SNAPSHOT_BYTES_PER_TICK = 64
"""What snapshots may add to the journal, on average."""


class Folded(NamedTuple):
    """A session's state, and how many ticks it has."""

    core: Core
    length: int


def fold(store: Store, id: str, plan: Plan, guard: Guard | None = None) -> Folded:
    """A session as its journal has it, from its latest snapshot on; its guard learns it too."""
    core, length = Core(plan), 0
    snapshot = store.latest_snapshot(id)
    if snapshot is not None:
        try:
            known = load(core, snapshot[1])
            length = snapshot[0]
            if guard is not None and known is not None:
                guard.load(known)
        except ValueError:
            core = Core(plan)
    for batch in store.scan(id, length):
        for tick in batch:
            if guard is not None and isinstance(tick, ticks.Finished):
                guard.weigh(core, tick)
            core.apply(tick)
            if guard is not None:
                guard.learn(core, tick)
        length += len(batch)
    return Folded(core, length)


class Keeper(Protocol):
    """Who has a session driven, and takes it back."""

    def park(self, drive: Drive) -> None:
        """Nothing is under way in it any more."""
        ...


class Drive(Runner):
    """Folds a session's journal, runs what is under way, and records what comes of it."""

    __slots__ = (
        "_answering",
        "_append",
        "_audience",
        "_keeper",
        "_loop",
        "_reading",
        "_status",
        "_store",
        "_thread",
        "was_stale",
    )

    def __init__(
        self,
        id: str,
        store: Store,
        binding: Binding,
        audience: Audience,
        guard: Guard | None,
        alarms: Alarms,
        clocks: Clocks,
        *,
        is_new: bool,
        snapshots: bool,
    ) -> None:
        if is_new:
            core, length, self._status = Core(binding.plan), 0, "pending"
        else:
            core, length = fold(store, id, binding.plan, guard)
            row = store.session(id)
            self._status = row.status if row is not None else ""
        self._append = store.writer(id)
        host = AsyncioHost(alarms, clocks.of(id, core))
        super().__init__(id, core, binding, host, guard, self._append, audience)
        self.stepper.length = length
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self._store = store
        self._audience = audience
        self._answering: tuple[ticks.AnyTick, int] | None = None
        """A tick that a letter asked for, and the letter: both are written at once."""
        self._reading = False
        self._keeper: Keeper | None = None
        self.was_stale = self._status != core.status
        """Whether the last process died between a tick and the note of what it led to."""
        if snapshots:
            self.stepper.next_look = length + SNAPSHOT_EVERY
        if not is_new:
            self.applied()

    @property
    def length(self) -> int:
        """How many ticks the session has."""
        return self.stepper.length

    def begin(self, row: SessionRow, expected: Expected) -> Durable:
        """Start the session; it goes on when somebody drives it."""
        debug = row.labels.get(DEBUG, [])
        started = ticks.Started(self._host.now(), row.inputs, *expected, debug)
        entry = self.stepper.enter(self, started)
        return None if entry is None else self._see_to(entry)

    async def carry_out(self, control: AnyControl) -> bool:
        """Record a control and act on it; False if there was nothing to do."""
        changed = False

        def tick(now: float) -> ticks.AnyTick | None:
            nonlocal changed
            asked = control.tick(self.session, self.core, now)
            changed = asked is not None
            return asked

        await self.control(tick)
        return changed

    async def expire(self) -> None:
        """Settle every question whose deadline has passed."""
        while (deadline := self.core.next_deadline) is not None and deadline <= self._host.now():
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
                if self._answering is None:  # it led to no tick
                    self._store.reply(self.session, letter.number, refusal)
                self._answering = None
        finally:
            self._reading, self._answering = False, None

    async def _carry_out(self, letter: int, control: AnyControl) -> None:
        def tick(now: float) -> ticks.AnyTick | None:
            self._answering = None
            asked = control.tick(self.session, self.core, now)
            if asked is not None:
                self._answering = asked, letter
            return asked

        await self.control(tick)

    async def speak_for(self, address: str, outcome: Emit) -> None:
        """Record what a step comes to before anybody drives the session: its node does not run."""
        step = next(step for step in self.core.steps.all() if step.address == address)
        ctx = StepContext(step, self, self._host.now())
        try:
            tick = self.stepper.executor.conclude(ctx, outcome)
        except Exception as error:
            tick = self.stepper.executor.explain(ctx, error)
        entry = self.stepper.enter(self, tick, step)
        if entry is not None:
            await self._see_to(entry)
        self.stepper.ready.clear()
        self.stepper.ready.put_all(self.core.todo())

    def go_on(self, keeper: Keeper) -> None:
        """Drive the session, and tell its keeper when nothing is under way here any more."""
        self._keeper = keeper
        self.drive()

    # What its runner asks for

    def record(self, tick: ticks.AnyTick, /) -> tuple[ticks.AnyTick, Durable]:
        """Write a tick down, or that what it says cannot be."""
        try:
            durable = self._append(tick) if self._answering is None else self._answer(tick)
        except Unstorable as error:
            if not isinstance(tick, ticks.Finished | ticks.Suspended):
                raise
            tick = ticks.Failed(tick.at, tick.step, str(error), "unstorable", list(tick.usage))
            durable = self._append(tick)
        if durable is None and self._audience.waiting:
            self._audience.ring()
        return tick, durable

    def _answer(self, tick: ticks.AnyTick) -> Durable:
        """Record a tick while a letter is carried out; with the one it asked for, it is gone."""
        asked, letter = self._answering or (None, None)
        return self._store.append(self.session, tick, letter=letter if asked is tick else None)

    def applied(self) -> None:
        """Note a new status; write a snapshot when it is time for one."""
        core, stepper = self.core, self.stepper
        if core.status != self._status:
            self._status = core.status
            self._store.set_status(self.session, core.status, core.reason)
        if stepper.length >= stepper.next_look and not core.ended:
            blob = dump(core, self._guard and self._guard.dump())
            self._store.save_snapshot(self.session, stepper.length, blob, keep=2)
            pause = max(SNAPSHOT_EVERY, len(blob) // SNAPSHOT_BYTES_PER_TICK)
            stepper.next_look = stepper.length + pause

    def live(self, step: Step, event: str, data: dict[str, Any], /) -> None:
        """Publish a live event, from any thread."""
        if not self._audience.is_there:
            return
        if get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.live, step, event, data)
            return
        self._audience.hear(self.length, Narrator.live(self.session, step, event, data))

    def _told(self) -> None:
        self._audience.ring()

    def _idle(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.park(self)
