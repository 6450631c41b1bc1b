"""The driver of a session: it awaits what the stepper cannot, and feeds the outcome back.

One driver per session, one recorded wait at a time. What need not wait is done in place, and so
is a step that is the only one; of several that wait, each is a task, and whichever ends first is
the next tick. When nothing can run any more (the session ended, waits, is paused or locked) the
driver returns and costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from rondel.engine import ticks
from rondel.engine.core.effects import Command
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.emit import Emit
from rondel.engine.shell.alarms import Alarms
from rondel.engine.shell.beside import CommandTasks
from rondel.engine.shell.binding import Binding
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.executor import Executor
from rondel.engine.shell.exits import Halted
from rondel.engine.shell.guard import SessionGuard
from rondel.engine.shell.notifier import Notifier
from rondel.engine.shell.services import StepServices, write
from rondel.engine.shell.stepper import OUT_OF_TIME, Pause, Recorder, Stepper, Unwritten


class Runner:
    """Owns the task that drives a session, what it awaits, and the time it may take."""

    __slots__ = (
        "_alarms",
        "_driver",
        "_error",
        "_guard",
        "_services",
        "_stepper",
        "_tasks",
        "_when_idle",
        "now",
        "state",
    )

    def __init__(
        self,
        session: str,
        state: SessionState,
        binding: Binding,
        now: Callable[[], float],
        alarms: Alarms,
        guard: SessionGuard | None,
        recorder: Recorder,
        notifier: Notifier,
    ) -> None:
        self.state = state
        self.now = now
        """Seconds since the epoch, by the clock of the session, which never jumps."""
        executor = Executor(binding, now)
        self._stepper = Stepper(state, executor, now, guard, recorder, notifier)
        self._services = StepServices(session, self._stepper, now)
        self._alarms = alarms
        self._tasks: CommandTasks | None = None
        self._guard = guard
        self._when_idle: Callable[[], None] | None = None
        """To be called when nothing is under way any more, at the end of the driver."""
        self._driver: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        """What ended the driver, if it did not end by itself."""

    # Outside

    @property
    def driving(self) -> bool:
        """Whether a task is driving the session now."""
        return self._driver is not None and not self._driver.done()

    def begin(self, make: Callable[[float], ticks.Started]) -> Awaitable[None] | None:
        """Record the start of the session; None if it is durable at once."""
        unwritten = self._stepper.enter(make(self.now()))
        return None if unwritten is None else write(self._stepper, unwritten)

    async def speak_for(self, step: Step, outcome: Emit) -> None:
        """Record what a step comes to before anybody drives the session: its node does not run."""
        ctx = StepContext(step, self._services, self.now())
        await self._journal(self._stepper.executor.conclude(ctx, outcome), step)
        self._stepper.start_over()

    async def control(self, make: Callable[[float], ticks.AnyTick | None]) -> None:
        """Journal a tick from outside the steps and act on it.

        `make` gets the time, and may refuse by raising or ask for nothing by returning None.
        """
        tick = make(self.now())
        if tick is None:
            return
        if isinstance(tick, ticks.Stopped):
            await self._record_all_spending()
            tick = make(self.now())  # it may have ended meanwhile: then that is refused
            if tick is None:
                return
        await self._journal(tick)
        if isinstance(tick, ticks.Unlocked) and self.driving:
            self._set_timer()
        if self.state.ended and self._stepper.in_place is not None and self._driver is not None:
            self._driver.cancel()
        self.drive()
        self._beside.wake()

    def drive(self, when_idle: Callable[[], None] | None = None) -> None:
        """Start driving, unless somebody does already; whoever asked is told of the end."""
        if when_idle is not None:
            self._when_idle = when_idle
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
        self._stepper.begin_no_more()
        if self._driver is not None and not self._driver.done():
            self._beside.wake()
            await asyncio.wait([self._driver])

    async def close(self) -> None:
        """Stop driving without a trace: what was under way is under way for the next process."""
        if self._driver is not None and not self._driver.done():
            self._driver.cancel()
            await asyncio.wait([self._driver])
        await self._beside.cancel()
        await self._record_all_spending()

    # The driver loop

    async def _drive(self) -> None:
        stepper = self._stepper
        try:
            if self._guard is not None and self._guard.due is not None:
                await write(stepper, stepper.enter_found([self._guard.due]))
            while True:
                waiting = stepper.run(self._services)
                while waiting is not None:  # a step that is the only one: awaited in place
                    try:
                        result = await waiting
                    except BaseException as error:
                        waiting = await self._break_off(error)
                    else:
                        waiting = stepper.go_on(self._services, result)
                        result = None  # it may be large, and the next one may take its time
                        if waiting is None:
                            self._calm_down()
                self._start_beside()
                if not await self._attend(stepper.take_pause()):
                    break
        except BaseException as error:
            self._give_up(error)
        finally:
            self._alarms.clear(self)
            if stepper.stopped_beside():
                await self._beside.cancel()
            self._driver = None
            self._tell_idle()

    def _tell_idle(self) -> None:
        when_idle, self._when_idle = self._when_idle, None
        if when_idle is not None:
            when_idle()

    def _give_up(self, error: BaseException) -> None:
        """Keep what ended the driver for those who keep the session, unless it was told to end."""
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit):
            raise error
        self._error = error

    async def _break_off(self, error: BaseException) -> Awaitable[Any] | None:
        """The step that was awaited in place raised this; go on with what follows from it."""
        state, stepper = self.state, self._stepper
        ctx = stepper.break_off()
        try:
            excused = state.ended or stepper.late
            tick = None if excused and _is_cancelled(error) else self._explain(ctx, error)
            if tick is None and not state.ended:
                await self._put_back([ctx.step])
        finally:
            self._calm_down()
        if tick is None or state.ended:
            return None
        return stepper.go_on_after(self._services, tick, ctx.step)

    def _calm_down(self) -> None:
        """What was cancelled is the step that was awaited in place, and not the driver."""
        if self._stepper.late or self.state.ended:
            asyncio.current_task().uncancel()  # type: ignore[union-attr]

    async def _attend(self, pause: Pause | None) -> bool:
        """Wait for what there is to wait for; False if there is nothing any more."""
        if pause is None:
            return await self._wait()
        if isinstance(pause, Unwritten):
            await write(self._stepper, pause)
        elif pause is OUT_OF_TIME:
            self.time_is_up()
        else:
            await asyncio.sleep(0)
        while self._tasks is not None and self._tasks.has_news:
            await self._wait_any()
        return True

    async def _wait(self) -> bool:
        """Nothing is ready: wait for what is under way beside; False if nothing is."""
        if self.state.ended:
            return False
        if self._stepper.late:
            await self._lock_up()
        elif self._stepper.beside:
            await self._wait_any()
        else:
            return False
        return True

    # Commands beside the driver

    @property
    def _beside(self) -> CommandTasks:
        """Its commands as tasks; made for the first who asks."""
        if self._tasks is None:
            self._tasks = CommandTasks()
        return self._tasks

    def _start_beside(self) -> None:
        for command, begun in self._stepper.take_to_start():
            self._beside.start(partial(self._perform, command, begun))

    async def _perform(
        self, command: Command, begun: StepContext | None
    ) -> tuple[ticks.AnyTick | None, Command]:
        if (held_up := self._stepper.may_begin()) is not None:
            await held_up
        executor = self._stepper.executor
        now = self.now()
        done = executor.perform(command, self._services, now) if begun is None else begun
        if not isinstance(done, StepContext):
            return done, command
        try:
            result = await done.call  # type: ignore[misc]
            return executor.finish(done, result), command
        except BaseException as error:
            return self._explain(done, error), command

    def _explain(self, ctx: StepContext, error: BaseException) -> ticks.AnyTick | None:
        """The tick of a step that raised this; None if it is put off; else it is not its error."""
        try:
            if _is_cancelled(error):
                raise error
            return self._stepper.executor.explain(ctx, error)
        except Halted:
            return None

    async def _wait_any(self) -> None:
        ended = await self._beside.next()
        if ended is None:
            return
        tick, command = ended
        self._stepper.ended_beside(command)
        if self.state.ended:
            return
        if tick is None:
            await self._put_back([command])
        else:
            await self._journal(tick, command)

    async def _put_back(self, commands: list[Command]) -> None:
        """What was begun and not ended is to be done again; what it has spent is spent."""
        self._stepper.put_back(commands)
        for command in commands:
            if isinstance(command, Step):
                await self._record_spending(command)

    # Ticks

    async def _journal(self, tick: ticks.AnyTick, command: Command | None = None) -> None:
        await write(self._stepper, self._stepper.enter(tick, command))

    async def _record_all_spending(self) -> None:
        for step in list(self.state.steps.values()):
            await self._record_spending(step)

    async def _record_spending(self, step: Step) -> None:
        """Enter what a step has spent that will not end, or not yet."""
        usage = self._stepper.unrecorded(step)
        if usage and not self.state.ended and step.number in self.state.steps:
            await self._journal(ticks.Spent(self.now(), step.number, usage))

    # The time it may take

    def _set_timer(self) -> None:
        """Wake up when the session has run as long as its guard allows, also if a node hangs."""
        guard = self._guard
        now = self.now()
        left = None if guard is None else guard.time_left(self.state, now)
        if left is not None:
            self._stepper.allow_until(now + left)
            self._alarms.set(self, max(left, 0.0) + 0.001)

    def time_is_up(self) -> None:
        """The session may have run as long as its guard allows."""
        guard, state = self._guard, self.state
        if guard is None or state.ended:
            return
        if (guard.time_left(state, self.now()) or 0.0) > 0:
            self._set_timer()
            return
        self._stepper.set_late(late=True)
        if self._stepper.in_place is not None and self._driver is not None:
            self._driver.cancel()
        else:
            self._beside.wake()

    async def _lock_up(self) -> None:
        """Time is up: what was under way is under way again when the lock is opened."""
        self._stepper.set_late(late=False)
        await self._beside.cancel()
        await self._put_back(self._stepper.stopped_beside())
        if self._guard is not None:
            overdue = self._guard.overdue(self.state, self.now())
            await write(self._stepper, self._stepper.enter_found([overdue]))


def _is_cancelled(error: BaseException) -> bool:
    """Whether it is the step that was cancelled, not something in its node."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
