"""The shell around the core: it journals, executes, and feeds the outcome back.

One driver per session, one recorded wait at a time. A single ready step is awaited in place;
several run as tasks, and whichever ends first is the next tick. When nothing can run any more
(the session ended, waits, is paused or locked) the driver returns and costs nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from rondel.engine import ticks
from rondel.engine.binding import Binding
from rondel.engine.core import Core
from rondel.engine.effects import Command, Route
from rondel.engine.executor import Executor
from rondel.engine.host import Host
from rondel.engine.protocols import Usage
from rondel.engine.step import Step

YIELD_EVERY = 0.005
"""Seconds a driver may run steps in place before other sessions get their turn."""


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
        host: Host,
    ) -> None:
        self.session = session
        self.core = core
        self._host = host
        self._executor = Executor(core, binding, self, host.now)
        self._record = record
        self.live = live
        self._applied = applied
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
        await self._journal(tick)
        if self.core.ended and self._in_place and self._driver is not None:
            self._driver.cancel()
        self.drive()
        self._host.wake()

    def drive(self) -> asyncio.Task[None]:
        """Start driving, unless somebody does already."""
        if not self.driving:
            self._driver = asyncio.get_running_loop().create_task(self._drive())
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

    # The driver loop

    async def _drive(self) -> None:
        try:
            while await self._advance():
                pass
        finally:
            await self._host.cancel()

    async def _advance(self) -> bool:
        core = self.core
        if core.ended:
            return False
        if self._ready and core.status == "running":
            if len(self._ready) == 1 and not self._host.busy and not core.questions:
                await self._run_in_place()
                return True
            self._start_ready()
        if self._host.busy:
            await self._wait_any()
            return True
        return False

    async def _run_in_place(self) -> None:
        """The common case: one thing to do, done here; a loop of them without any task."""
        ready, core = self._ready, self.core
        last_yield = self._host.now()
        while len(ready) == 1:
            command = ready.popleft()
            tick = self._executor.perform(command)
            if not isinstance(tick, ticks.Tick):
                awaited = await self._await_in_place(tick)
                if awaited is None:
                    return
                tick = awaited
            await self._journal(tick, command)
            if tick.at - last_yield > YIELD_EVERY:
                await asyncio.sleep(0)
                last_yield = self._host.now()
            if core.status != "running" or core.questions:
                return

    async def _await_in_place(self, call: Awaitable[ticks.AnyTick]) -> ticks.AnyTick | None:
        """The tick; None if the session was ended meanwhile."""
        self._in_place = True
        try:
            tick = await call
        except asyncio.CancelledError:
            if not self.core.ended:
                raise
            asyncio.current_task().uncancel()  # type: ignore[union-attr]
            return None
        finally:
            self._in_place = False
        return None if self.core.ended else tick

    def _start_ready(self) -> None:
        while self._ready:
            command = self._ready.popleft()
            self._host.start(_key(command), partial(self._perform, command))

    async def _perform(self, command: Command) -> tuple[ticks.AnyTick, Command]:
        tick = self._executor.perform(command)
        return (tick if isinstance(tick, ticks.Tick) else await tick), command

    async def _wait_any(self) -> None:
        outcome = await self._host.next()
        if outcome is not None and not self.core.ended:
            await self._journal(*outcome)

    async def _journal(self, tick: ticks.AnyTick, command: Command | None = None) -> None:
        """Record the tick and fold it in; what depends on it starts once it is durable."""
        if command is not None and isinstance(tick, ticks.Locked):
            self._ready.append(command)  # for when the lock is opened
        recorded, durable = self._record(tick)
        commands = self.core.apply(recorded)
        self._applied()
        if durable is not None:
            await durable
        self._ready.extend(commands)

    # What contexts ask of the shell

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the session was started with."""
        return self.core.inputs

    async def keep_part(
        self, step: Step, name: str, value: Any, usage: list[Usage], event: str
    ) -> None:
        """Journal a sub-step of a step under way."""
        if not self.core.ended:
            now = self._host.now()
            await self._journal(ticks.Substepped(now, step.number, name, value, usage, event))

    async def reserve(self, step: Step, estimate: Callable[[], Usage]) -> None:
        """Wait for leave to make a model call."""


def _key(command: Command) -> str:
    """What a command is called, also after a crash."""
    if isinstance(command, Step):
        return f"{command.node.id}#{command.number} {command.address}"
    if isinstance(command, Route):
        return f"route {command.step.address}"
    return f"leave {command.frame.scope.name}#{command.frame.entry}"
