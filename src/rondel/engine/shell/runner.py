"""The shell around the core: it journals, executes, and feeds the outcome back.

One driver per session, one recorded wait at a time. What need not wait is done in place, and so
is a step that is the only one; of several that wait, each is a task, and whichever ends first is
the next tick. When nothing can run any more (the session ended, waits, is paused or locked) the
driver returns and costs nothing.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from rondel.engine import ticks
from rondel.engine.core.effects import Command
from rondel.engine.core.fold import Core
from rondel.engine.core.step import Step
from rondel.engine.protocols import Lock, Note, Usage
from rondel.engine.shell.binding import Binding
from rondel.engine.shell.budget_gate import Purse
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.executor import Executor
from rondel.engine.shell.exits import Halted
from rondel.engine.shell.guard import Guard
from rondel.engine.shell.host import Host
from rondel.engine.shell.notifier import Bell
from rondel.engine.shell.shell import Shell
from rondel.engine.shell.stepper import Append, Entry, Pause, Stepper


class Runner(Shell):
    """Drives one session from tick to tick; whoever keeps the session says what that means."""

    __slots__ = ("_draining", "_driver", "_error", "_guard", "_host", "_under_way", "stepper")

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
        self.stepper = Stepper(core, binding.executor, host.now, guard, append, bell)
        self._host = host
        self._guard = guard
        self._under_way: list[Command] | None = None
        """What is carried out beside the driver, if anything ever was."""
        self._driver: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        """What ended the driver, if it did not end by itself."""
        self._draining = False

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
            for step in self.core.steps.all():
                await self._record_spending(step)
            tick = make(self._host.now())  # it may have ended meanwhile: then that is refused
            if tick is None:
                return
        await self._journal(tick)
        if isinstance(tick, ticks.Unlocked) and self.driving:
            self._set_timer()
        if self.core.ended and self.stepper.in_place is not None and self._driver is not None:
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

    async def drain(self) -> None:
        """Begin no further step, and wait for those under way; the rest is for the next process."""
        self._draining = True
        if self._driver is not None and not self._driver.done():
            self._host.wake()
            await asyncio.wait([self._driver])

    async def close(self) -> None:
        """Stop driving without a trace: what was under way is under way for the next process."""
        if self._driver is not None and not self._driver.done():
            self._driver.cancel()
            await asyncio.wait([self._driver])
        await self._host.cancel()
        for step in self.core.steps.all():
            await self._record_spending(step)

    # The driver loop

    async def _drive(self) -> None:
        stepper = self.stepper
        try:
            if self._guard is not None and self._guard.due is not None:
                await self._follow([self._guard.due])
            while True:
                waiting = None if self._draining else stepper.run(self)
                while waiting is not None:  # a step that is the only one: awaited in place
                    try:
                        result = await waiting
                    except BaseException as error:
                        waiting = await self._break_off(error)
                    else:
                        waiting = self._wanted(stepper.go_on(self, result))
                        result = None  # it may be large, and the next one may take its time
                        if waiting is None:
                            self._calm_down()
                pause, stepper.pause = stepper.pause, None
                if not await self._attend(pause) or (self._draining and not self._host.busy):
                    break
        except BaseException as error:
            self._give_up(error)
        finally:
            self._host.clear_alarm(self)
            self._under_way = None
            if self._host.busy:
                await self._host.cancel()
            stepper.beside = 0
            self._driver = None
            self._idle()

    def _wanted(self, waiting: Awaitable[Any] | None) -> Awaitable[Any] | None:
        """A step that is to begin, unless none is to begin any more."""
        if not self._draining or waiting is None:
            return waiting
        close = getattr(waiting, "close", None)
        if close is not None:
            close()
        return None

    def _give_up(self, error: BaseException) -> None:
        """Keep what ended the driver for those who keep the session, unless it was told to end."""
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit):
            raise error
        self._error = error

    async def _break_off(self, error: BaseException) -> Awaitable[Any] | None:
        """The step that was awaited in place raised this; go on with what follows from it."""
        core, stepper = self.core, self.stepper
        ctx, stepper.in_place, stepper.pause = stepper.in_place, None, None
        assert ctx is not None  # noqa: S101
        try:
            excused = core.ended or stepper.late
            tick = None if excused and _is_cancelled(error) else self._explain(ctx, error)
            if tick is None and not core.ended:
                await self._put_back([ctx.step])
        finally:
            self._calm_down()
        if tick is not None and not core.ended:
            stepper.pause = stepper.enter(self, tick, ctx.step)
            if stepper.pause is None:
                return stepper.run(self)
        return None

    def _calm_down(self) -> None:
        """What was cancelled is the step that was awaited in place, and not the driver."""
        if self.stepper.late or self.core.ended:
            asyncio.current_task().uncancel()  # type: ignore[union-attr]

    async def _attend(self, pause: Pause | None) -> bool:
        """Wait for what there is to wait for; False if there is nothing any more."""
        host = self._host
        if isinstance(pause, Entry):
            await self._see_to(pause)
        elif pause is not None:
            await asyncio.sleep(0)
        else:
            return await self._wait()
        while host.has_news:
            await self._wait_any()
        return True

    async def _wait(self) -> bool:
        """Nothing is ready: wait for what is under way beside; False if nothing is."""
        if self.core.ended:
            return False
        if self.stepper.late:
            await self._lock_up()
        elif self._host.busy:
            await self._wait_any()
        else:
            return False
        return True

    def _explain(self, ctx: StepContext, error: BaseException) -> ticks.AnyTick | None:
        """The tick of a step that raised this; None if it is put off; else it is not its error."""
        try:
            if _is_cancelled(error):
                raise error
            return self.stepper.executor.explain(ctx, error)
        except Halted:
            return None

    def start_beside(self, command: Command, begun: StepContext | None) -> None:
        """Carry out a command beside others, or go on with it."""
        if self._under_way is None:
            self._under_way = []
        self._under_way.append(command)
        self.stepper.beside += 1
        self._host.start(command, partial(self._perform, command, begun))

    async def _perform(
        self, command: Command, begun: StepContext | None
    ) -> tuple[ticks.AnyTick | None, Command]:
        executor = self.stepper.executor
        done = executor.perform(command, self, self._host.now()) if begun is None else begun
        if not isinstance(done, StepContext):
            return done, command
        try:
            result = await done.call  # type: ignore[misc]
            return executor.conclude(done, executor.finish(done, result)), command
        except BaseException as error:
            return self._explain(done, error), command

    async def _wait_any(self) -> None:
        outcome = await self._host.next()
        if outcome is None:
            return
        tick, command = outcome
        self.stepper.beside -= 1
        if self._under_way is not None:
            self._under_way.remove(command)
        if self.core.ended:
            return
        if tick is None:
            await self._put_back([command])
        else:
            await self._journal(tick, command)

    async def _put_back(self, commands: list[Command]) -> None:
        """What was begun and not ended is to be done again; what it has spent is spent."""
        self.stepper.ready.put_all(commands)
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
        self.stepper.ready.put_all(entry.commands)

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
        now = self._host.now()
        left = None if guard is None else guard.time_left(self.core, now)
        if left is not None:
            self.stepper.late = False
            self.stepper.deadline = now + left
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
        if self.stepper.in_place is not None and self._driver is not None:
            self._driver.cancel()
        else:
            self._host.wake()

    async def _lock_up(self) -> None:
        """Time is up: what was under way is under way again when the lock is opened."""
        self.stepper.late = False
        await self._host.cancel()
        self.stepper.beside = 0
        commands, self._under_way = self._under_way, None
        await self._put_back(commands or [])
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
