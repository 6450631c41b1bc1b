"""The shell around the core: it journals, executes, and feeds the outcome back.

One driver per session, one recorded wait at a time. What need not wait is done in place, and so
is a step that is the only one; of several that wait, each is a task, and whichever ends first is
the next tick. When nothing can run any more (the session ended, waits, is paused or locked) the
driver returns and costs nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from rondel.engine import ticks
from rondel.engine.binding import Binding
from rondel.engine.context import Halted
from rondel.engine.core import Core
from rondel.engine.effects import Command
from rondel.engine.executor import Executor, Performed
from rondel.engine.guard import Guard
from rondel.engine.host import Host
from rondel.engine.protocols import Lock, Note, Usage
from rondel.engine.purse import Purse
from rondel.engine.step import Step
from rondel.engine.ticks import Finished

YIELD_EVERY = 0.005
"""Seconds a driver may run steps in place before other sessions get their turn."""


NEVER: Final = 1 << 60
"""More ticks than a session can have."""


class Recorder(Protocol):
    """Makes a tick durable, or the one it puts in its place; None means that it already is."""

    def __call__(self, tick: ticks.AnyTick, /) -> tuple[ticks.AnyTick, Awaitable[None] | None]: ...


class Runner:
    """Drives one session from tick to tick."""

    def __init__(
        self,
        session: str,
        core: Core,
        binding: Binding,
        record: Recorder,
        live: Callable[[Step, str, dict[str, Any]], None],
        applied: Callable[[], None],
        told: Callable[[], None],
        host: Host,
        guard: Guard | None = None,
    ) -> None:
        self.session = session
        self.core = core
        self.length = 0
        """How many ticks the session has."""
        self.next_look = NEVER
        """The length at which `applied` is called even if the status stays as it is."""
        self._purse: Purse | None = None
        self._host = host
        self._guard = guard
        self._timer: asyncio.TimerHandle | None = None
        self._late = False
        self._under_way: list[Command] = []
        self._executor = Executor(binding, self, host.now)
        self._record = record
        self.live = live
        self._applied = applied
        self._told = told
        self.signals: Mapping[str, Any] = core.signals
        self._ready: deque[Command] = deque(core.todo())
        self._driver: asyncio.Task[None] | None = None
        self._in_place = False

    # Outside

    @property
    def driving(self) -> bool:
        """Whether a task is driving the session now."""
        return self._driver is not None and not self._driver.done()

    async def control(self, make: Callable[[float], ticks.AnyTick | None]) -> None:
        """Journal a tick from outside the steps and act on it.

        `make` gets the time, and may refuse by raising or ask for nothing by returning None.
        """
        tick = make(self._host.now())
        if tick is None:
            return
        if isinstance(tick, ticks.Stopped):
            for step in list(self.core.steps.values()):
                await self._record_spending(step)
            tick = make(self._host.now())  # it may have ended meanwhile: then that is refused
            if tick is None:
                return
        await self._journal(tick)
        if isinstance(tick, ticks.Unlocked) and self.driving:
            self._set_timer()
        if self.core.ended and self._in_place and self._driver is not None:
            self._driver.cancel()
        self.drive()
        self._host.wake()

    def drive(self) -> asyncio.Task[None]:
        """Start driving, unless somebody does already."""
        if not self.driving:
            self._driver = asyncio.get_running_loop().create_task(self._drive())
            self._set_timer()
        assert self._driver is not None  # noqa: S101
        return self._driver

    def raise_if_broken(self) -> None:
        """Raise what ended the driver, if it did not end by itself."""
        driver = self._driver
        if driver is not None and driver.done() and not driver.cancelled():
            error = driver.exception()
            if error is not None:
                raise error

    async def close(self) -> None:
        """Stop driving without a trace: what was under way is under way for the next process."""
        if self._driver is not None and not self._driver.done():
            self._driver.cancel()
            await asyncio.wait([self._driver])
        await self._host.cancel()
        for step in list(self.core.steps.values()):
            await self._record_spending(step)

    # The driver loop

    async def _drive(self) -> None:
        try:
            if self._guard is not None and self._guard.due is not None:
                await self._follow([self._guard.due])
            while await self._advance():
                pass
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._under_way.clear()
            await self._host.cancel()

    async def _advance(self) -> bool:
        core = self.core
        if core.ended:
            return False
        if self._late:
            await self._lock_up()
        if self._ready and core.status == "running":
            await self._run_ready()
            return True
        if self._host.busy:
            await self._wait_any()
            return True
        return False

    async def _run_ready(self) -> None:
        """Do what is ready and all that follows from it, until there is something to wait for."""
        ready, core, host, executor = self._ready, self.core, self._host, self._executor
        last_yield = host.now()
        while ready and core.status == "running" and not self._late:
            command = ready.popleft()
            alone = not (ready or host.busy or core.questions)
            if not alone and not executor.is_immediate(command):
                self._start_beside(command, partial(executor.perform, command))
                continue
            tick = executor.perform(command)
            if type(tick) is not Finished and not isinstance(tick, ticks.Tick):
                if not alone:
                    self._start_beside(command, partial(_same, tick))
                    continue
                awaited = await self._await_in_place(tick, command)
                if awaited is None:
                    return
                tick, last_yield = awaited, awaited.at
            wait = self._enter(tick, command)
            if wait is not None:
                await wait
            if tick.at - last_yield > YIELD_EVERY:
                await asyncio.sleep(0)
                while host.has_news:
                    await self._wait_any()
                last_yield = host.now()

    async def _await_in_place(
        self, call: Awaitable[ticks.AnyTick], command: Command
    ) -> ticks.AnyTick | None:
        """The tick; None if the session was ended or locked meanwhile."""
        self._in_place = True
        try:
            tick = await call
        except (asyncio.CancelledError, Halted) as error:
            if not (self.core.ended or self._late or isinstance(error, Halted)):
                raise
            if not self.core.ended:
                await self._put_back([command])
            return None
        finally:
            self._in_place = False
            if self._late or self.core.ended:
                asyncio.current_task().uncancel()  # type: ignore[union-attr]
        return None if self.core.ended else tick

    def _start_beside(self, command: Command, call: Callable[[], Performed]) -> None:
        self._under_way.append(command)
        self._host.start(command, partial(self._perform, command, call))

    async def _perform(
        self, command: Command, call: Callable[[], Performed]
    ) -> tuple[ticks.AnyTick | None, Command]:
        tick = call()
        try:
            return (tick if isinstance(tick, ticks.Tick) else await tick), command
        except Halted:
            return None, command

    async def _wait_any(self) -> None:
        outcome = await self._host.next()
        if outcome is None:
            return
        tick, command = outcome
        self._under_way.remove(command)
        if self.core.ended:
            return
        if tick is None:
            await self._put_back([command])
        else:
            await self._journal(tick, command)

    async def _put_back(self, commands: list[Command]) -> None:
        """What was begun and not ended is to be done again; what it has spent is spent."""
        self._ready.extend(commands)
        for command in commands:
            if isinstance(command, Step):
                await self._record_spending(command)

    async def _record_spending(self, step: Step) -> None:
        """Enter what a step has spent that will not end, or not yet."""
        usage = () if self._purse is None else self._purse.unrecorded(step)
        if usage and not self.core.ended and step.number in self.core.steps:
            await self._journal(ticks.Spent(self._host.now(), step.number, list(usage)))

    async def _journal(self, tick: ticks.AnyTick, command: Command | None = None) -> None:
        wait = self._enter(tick, command)
        if wait is not None:
            await wait

    def _enter(self, tick: ticks.AnyTick, command: Command | None = None) -> Awaitable[None] | None:
        """Record the tick and fold it in; what depends on it is ready after what it returns."""
        core, guard = self.core, self._guard
        status = core.status
        if type(tick) is Finished:
            if guard is not None and not tick.usage and core.steps[tick.step].parts is None:
                guard = None  # no model had a part in it
            if guard is not None:
                tick = guard.weigh(core, tick)
        elif command is not None and isinstance(tick, ticks.Locked):
            self._ready.append(command)  # for when the lock is opened
        tick, durable = self._record(tick)
        self.length += 1
        commands = core.apply(tick)
        if self._purse is not None:
            self._purse.settle(tick)
        found = guard.learn(core, tick) if guard is not None else ()
        if core.status is not status or self.length >= self.next_look:
            self._applied()
        if found or durable is not None:
            return self._entered(found, durable, commands)
        for ready in commands:
            self._ready.append(ready)
        return None

    async def _entered(
        self,
        found: Sequence[Lock | Note],
        durable: Awaitable[None] | None,
        commands: list[Command],
    ) -> None:
        if found:
            await self._follow(found)
        if durable is not None:
            await durable
            self._told()  # those who watch read what is durable
        self._ready.extend(commands)

    # The guard

    async def _follow(self, found: Iterable[Lock | Note]) -> None:
        """Record what the guard found, unless it is too late to matter."""
        for item in found:
            if self.core.ended or (isinstance(item, Lock) and self.core.lock is not None):
                return
            now = self._host.now()
            if isinstance(item, Lock):
                await self._journal(ticks.Locked(now, item.reason, item.message, item.figures))
            else:
                await self._journal(
                    ticks.Noted(now, item.event, item.data, item.node, item.address)
                )

    def _set_timer(self) -> None:
        """Wake up when the session has run as long as its guard allows, also if a node hangs."""
        if self._timer is not None:
            self._timer.cancel()
        guard = self._guard
        left = None if guard is None else guard.time_left(self.core, self._host.now())
        if left is not None:
            self._late = False
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(left, 0.0) + 0.001, self._time_is_up)

    def _time_is_up(self) -> None:
        guard, core = self._guard, self.core
        if guard is None or core.ended:
            return
        if (guard.time_left(core, self._host.now()) or 0.0) > 0:
            self._set_timer()
            return
        self._late = True
        if self._in_place and self._driver is not None:
            self._driver.cancel()
        else:
            self._host.wake()

    async def _lock_up(self) -> None:
        """Time is up: what was under way is under way again when the lock is opened."""
        self._late = False
        await self._host.cancel()
        commands, self._under_way = self._under_way, []
        await self._put_back(commands)
        if self._guard is not None:
            await self._follow([self._guard.overdue(self.core, self._host.now())])

    # What contexts ask of the shell

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the session was started with."""
        return self.core.inputs

    @property
    def purse(self) -> Purse:
        """Who gives leave for model calls; made for the first who asks."""
        if self._purse is None:
            self._purse = Purse(self.core, self._host.now)
        return self._purse

    def active_at(self, now: float) -> float:
        """Seconds the session has run until then, waiting excluded."""
        return now - self.core.started_at - self.core.idle

    @property
    def halted(self) -> bool:
        """Whether steps under way should not begin anything more."""
        return self.core.lock is not None

    async def keep_part(
        self, step: Step, name: str, value: Any, usage: list[Usage], event: str
    ) -> None:
        """Journal a sub-step of a step under way."""
        if not self.core.ended:
            now = self._host.now()
            await self._journal(ticks.Substepped(now, step.number, name, value, usage, event))


def _same(call: Awaitable[ticks.AnyTick]) -> Awaitable[ticks.AnyTick]:
    return call
