"""The shell around the core: it journals, executes, and feeds the outcome back.

One driver per session, one recorded wait at a time. What need not wait is done in place, and so
is a step that is the only one; of several that wait, each is a task, and whichever ends first is
the next tick. When nothing can run any more (the session ended, waits, is paused or locked) the
driver returns and costs nothing.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from rondel.engine import ticks
from rondel.engine.binding import Binding
from rondel.engine.core import Core
from rondel.engine.effects import Command
from rondel.engine.executor import FOREIGN, Executor, Pending
from rondel.engine.guard import Guard
from rondel.engine.host import Host
from rondel.engine.protocols import Lock, Note, Usage
from rondel.engine.purse import Purse
from rondel.engine.shell import Halted, Shell
from rondel.engine.step import Step
from rondel.engine.stepper import Append, Bell, Entry, Stepper


class Runner(Shell):
    """Drives one session from tick to tick; whoever keeps the session says what that means."""

    __slots__ = ("_driver", "_error", "_guard", "_host", "_in_place", "_under_way", "stepper")

    def __init__(
        self,
        session: str,
        core: Core,
        binding: Binding,
        host: Host,
        guard: Guard | None,
        append: Append,
        bell: Bell,
    ) -> None:
        super().__init__(session, core)
        if binding.executor is None:
            binding.executor = Executor(binding, host.now)
        self.stepper = Stepper(core, binding.executor, host, guard, append, bell)
        self._host = host
        self._guard = guard
        self._under_way: list[Command] = []
        self._driver: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        """What ended the driver, if it did not end by itself."""
        self._in_place = False

    # What the session's keeper does

    @abstractmethod
    def _told(self) -> None:
        """A tick has become durable after it was recorded."""

    @abstractmethod
    def _idle(self) -> None:
        """Nothing is under way any more; it runs at the end of the driver."""

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

    def drive(self) -> None:
        """Start driving, unless somebody does already."""
        if not self.driving:
            self._error = None
            self._driver = asyncio.get_running_loop().create_task(self._drive())
            self._set_timer()

    def raise_if_broken(self) -> None:
        """Raise what ended the driver, if it did not end by itself."""
        if self._error is not None:
            raise self._error

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
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # whoever keeps the session is told
            self._error = error
        finally:
            self._host.clear_alarm(self)
            self._under_way.clear()
            if self._host.busy:
                await self._host.cancel()
            self._driver = None
            self._idle()

    async def _advance(self) -> bool:
        core, stepper = self.core, self.stepper
        if core.ended:
            return False
        if stepper.late:
            await self._lock_up()
        if stepper.ready and core.status == "running":
            await self._run_ready()
            return True
        if self._host.busy:
            await self._wait_any()
            return True
        return False

    async def _run_ready(self) -> None:
        """Do what is ready and all that follows from it, until there is something to wait for."""
        stepper, host = self.stepper, self._host
        stepper.since = host.now()
        while (pause := stepper.run(self)) is not None:
            if isinstance(pause, Pending):
                tick = await self._await_in_place(pause)
                if tick is None:
                    return
                stepper.since = tick.at
                entry = stepper.enter(self, tick, pause.step)
                if entry is not None:
                    await self._see_to(entry)
                continue
            if isinstance(pause, Entry):
                await self._see_to(pause)
            else:
                await asyncio.sleep(0)
            while host.has_news:
                await self._wait_any()
            stepper.since = host.now()

    async def _await_in_place(self, pending: Pending) -> ticks.AnyTick | None:
        """The tick; None if the session was ended or locked meanwhile."""
        core, stepper = self.core, self.stepper
        self._in_place = True
        try:
            outcome = await pending.call
            tick = stepper.executor.conclude(pending.step, pending.ctx, outcome)
        except BaseException as error:
            excused = core.ended or stepper.late
            found = None if excused and _is_cancelled(error) else self._explain(pending, error)
            if found is None and not core.ended:
                await self._put_back([pending.step])
            return None if core.ended else found
        finally:
            self._in_place = False
            if stepper.late or core.ended:
                asyncio.current_task().uncancel()  # type: ignore[union-attr]
        return None if core.ended else tick

    def _explain(self, pending: Pending, error: BaseException) -> ticks.AnyTick | None:
        """The tick of a step that raised this; None if it is put off; else it is not its error."""
        try:
            if isinstance(error, FOREIGN) and not _is_cancelled(error):
                return self.stepper.executor.explain(pending.step, pending.ctx, error)
            raise error
        except Halted:
            return None

    def start_beside(self, command: Command, pending: Pending | None) -> None:
        """Carry out a command beside others, or go on with it."""
        self._under_way.append(command)
        self._host.start(command, partial(self._perform, command, pending))

    async def _perform(
        self, command: Command, pending: Pending | None
    ) -> tuple[ticks.AnyTick | None, Command]:
        executor = self.stepper.executor
        now = self._host.now()
        done = executor.perform(command, self, now) if pending is None else pending
        if not isinstance(done, Pending):
            return done, command
        try:
            return executor.conclude(done.step, done.ctx, await done.call), command
        except BaseException as error:
            return self._explain(done, error), command

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
        self.stepper.ready.extend(commands)
        for command in commands:
            if isinstance(command, Step):
                await self._record_spending(command)

    async def _record_spending(self, step: Step) -> None:
        """Enter what a step has spent that will not end, or not yet."""
        purse = self.stepper.purse
        usage = () if purse is None else purse.unrecorded(step)
        if usage and not self.core.ended and step.number in self.core.steps:
            await self._journal(ticks.Spent(self._host.now(), step.number, list(usage)))

    async def _journal(self, tick: ticks.AnyTick, command: Command | None = None) -> None:
        entry = self.stepper.enter(self, tick, command)
        if entry is not None:
            await self._see_to(entry)

    async def _see_to(self, entry: Entry) -> None:
        """Record what the guard found, and wait until the tick is durable."""
        if entry.found:
            await self._follow(entry.found)
        if entry.durable is not None:
            await entry.durable
            self._told()  # those who watch read what is durable
        self.stepper.ready.extend(entry.commands)

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
        guard = self._guard
        left = None if guard is None else guard.time_left(self.core, self._host.now())
        if left is not None:
            self.stepper.late = False
            self._host.set_alarm(self, max(left, 0.0) + 0.001)

    def time_is_up(self) -> None:
        """The session may have run as long as its guard allows."""
        guard, core = self._guard, self.core
        if guard is None or core.ended:
            return
        if (guard.time_left(core, self._host.now()) or 0.0) > 0:
            self._set_timer()
            return
        self.stepper.late = True
        if self._in_place and self._driver is not None:
            self._driver.cancel()
        else:
            self._host.wake()

    async def _lock_up(self) -> None:
        """Time is up: what was under way is under way again when the lock is opened."""
        self.stepper.late = False
        await self._host.cancel()
        commands, self._under_way = self._under_way, []
        await self._put_back(commands)
        if self._guard is not None:
            await self._follow([self._guard.overdue(self.core, self._host.now())])

    # What steps ask of the shell

    @property
    def purse(self) -> Purse:
        """Who gives leave for model calls; made for the first who asks."""
        stepper = self.stepper
        if stepper.purse is None:
            stepper.purse = Purse(self.core, self._host.now)
        return stepper.purse

    async def keep_part(
        self, step: Step, name: str, value: Any, usage: list[Usage], event: str
    ) -> None:
        """Journal a sub-step of a step under way."""
        if not self.core.ended:
            now = self._host.now()
            await self._journal(ticks.Substepped(now, step.number, name, value, usage, event))


def _is_cancelled(error: BaseException) -> bool:
    """Whether it is the step that was cancelled, not something in its node."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
