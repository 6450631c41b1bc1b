"""The shell around the core: it journals, executes, and feeds the outcome back.

One driver per session, one recorded wait at a time. A single ready step is awaited in place;
several run as tasks, and whichever ends first is the next tick. When nothing can run any more
(the session ended, waits, is paused or locked) the driver returns and costs nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from rondel.engine import ticks
from rondel.engine.binding import Binding, describe
from rondel.engine.context import StepContext
from rondel.engine.core import Core
from rondel.engine.effects import Command, Leave, Route
from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Lock, Nothing, Outcome, Suspend, Usage
from rondel.engine.step import Step
from rondel.errors import StepFailed, StepTimeout

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
        applied: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.session = session
        self.core = core
        self._binding = binding
        self._record = record
        self.live = live
        self._applied = applied
        self.signals: Mapping[str, Any] = core.signals
        self._clock = clock
        self._ready: deque[Command] = deque(core.todo())
        self._tasks: set[asyncio.Task[None]] = set()
        self._outcomes: deque[ticks.AnyTick] = deque()
        self._news: asyncio.Event | None = None
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
        tick = make(self._clock())
        if tick is None:
            return
        await self._journal(tick)
        if self.core.ended and self._in_place and self._driver is not None:
            self._driver.cancel()
        self.drive()
        self._wake()

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
        await self._cancel_tasks()

    # The driver loop

    async def _drive(self) -> None:
        self._news = asyncio.Event()
        try:
            while await self._advance():
                pass
        finally:
            self._news = None
            await self._cancel_tasks()

    async def _advance(self) -> bool:
        core = self.core
        if core.ended:
            return False
        if self._ready and core.status == "running":
            if len(self._ready) == 1 and not self._tasks and not core.questions:
                await self._run_in_place()
                return True
            self._start_ready()
        if self._tasks or self._outcomes:
            await self._wait_any()
            return True
        return False

    async def _run_in_place(self) -> None:
        """The common case: one thing to do, awaited here; a loop of them without any task."""
        ready, core = self._ready, self.core
        last_yield = self._clock()
        while len(ready) == 1:
            command = ready.popleft()
            self._in_place = True
            try:
                tick = await self._perform(command)
            except asyncio.CancelledError:
                if not core.ended:
                    raise
                asyncio.current_task().uncancel()  # type: ignore[union-attr]
                return
            finally:
                self._in_place = False
            if core.ended:
                return
            await self._journal(tick)
            if core.status != "running" or core.questions:
                return
            if tick.at - last_yield > YIELD_EVERY:
                await asyncio.sleep(0)
                last_yield = self._clock()

    def _start_ready(self) -> None:
        loop = asyncio.get_running_loop()
        while self._ready:
            task = loop.create_task(self._perform_beside(self._ready.popleft()))
            self._tasks.add(task)

    async def _perform_beside(self, command: Command) -> None:
        tick = await self._perform(command)
        self._outcomes.append(tick)
        self._tasks.discard(asyncio.current_task())
        self._wake()

    async def _wait_any(self) -> None:
        assert self._news is not None  # noqa: S101
        if not self._outcomes:
            self._news.clear()
            await self._news.wait()
        while self._outcomes and not self.core.ended:
            await self._journal(self._outcomes.popleft())

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()

    async def _journal(self, tick: ticks.AnyTick) -> None:
        """Record the tick and fold it in; what depends on it starts once it is durable."""
        recorded, durable = self._record(tick)
        commands = self.core.apply(recorded)
        self._applied()
        if durable is not None:
            await durable
        self._ready.extend(commands)

    async def _cancel_tasks(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        self._outcomes.clear()

    async def keep_part(self, step: Step, name: str, value: Any, usage: list[Usage]) -> None:
        """Journal a sub-step of a step under way."""
        if not self.core.ended:
            await self._journal(ticks.Substepped(self._clock(), step.number, name, value, usage))

    # Carrying out a command

    async def _perform(self, command: Command) -> ticks.AnyTick:
        if isinstance(command, Step):
            return await self._run_step(command)
        if isinstance(command, Route):
            return self._route(command)
        return self._leave(command)

    async def _run_step(self, step: Step) -> ticks.AnyTick:
        now = self._clock()
        core = self.core
        active = now - core.started_at - core.idle
        ctx = StepContext(step, self, now, active)
        bound = self._binding.nodes[step.node.index]
        try:
            outcome = await bound.call(ctx)  # type: ignore[misc]
            if isinstance(outcome, Emit):
                return self._emitted(step, ctx, outcome, now)
            return self._other_outcome(step, ctx, outcome, now)
        except Exception as error:  # the one blanket catch: what a node raises is the node's own
            return self._failed(step, ctx, error, now)

    def _emitted(self, step: Step, ctx: StepContext, outcome: Emit, began: float) -> ticks.Finished:
        bound = self._binding.nodes[step.node.index]
        messages = [_signed(message, bound.source) for message in outcome.messages]
        fired, altered = bound.route(step, outcome if bound.plain else _with(outcome, messages))
        now = self._clock()
        return ticks.Finished(
            now,
            step.number,
            messages,
            fired,
            altered,
            outcome.state,
            outcome.verdict,
            outcome.report,
            ctx.usage or [],
            now - began,
            ctx.retried or [],
        )

    def _other_outcome(
        self, step: Step, ctx: StepContext, outcome: Outcome | Lock, began: float
    ) -> ticks.AnyTick:
        now = self._clock()
        match outcome:
            case Nothing():
                return ticks.Finished(
                    now,
                    step.number,
                    state=outcome.state,
                    verdict=outcome.verdict,
                    report=outcome.report,
                    usage=ctx.usage or [],
                    took=now - began,
                    retried=ctx.retried or [],
                )
            case Suspend():
                return ticks.Suspended(
                    now, step.number, outcome.question, outcome.state, ctx.usage or []
                )
            case Lock():
                self._ready.append(step)  # for when the lock is opened
                return ticks.Locked(now, outcome.reason, outcome.message, outcome.figures)
            case _:
                name = type(outcome).__name__
                raise StepFailed(f"node {step.node.id!r} returned {name}, not an outcome")

    def _failed(self, step: Step, ctx: StepContext, error: Exception, began: float) -> ticks.Failed:
        now = self._clock()
        return ticks.Failed(
            now,
            step.number,
            error=describe(error),
            kind="timeout" if isinstance(error, StepTimeout) else type(error).__name__,
            usage=ctx.usage or [],
            took=now - began,
            retried=ctx.retried or [],
        )

    def _route(self, command: Route) -> ticks.AnyTick:
        """Send an inner graph's output along the edges of its node."""
        step = command.step
        ctx = StepContext(step, self, self._clock(), 0.0)
        try:
            return self._emitted(step, ctx, Emit(command.messages), ctx.now)
        except Exception as error:
            return self._failed(step, ctx, error, ctx.now)

    def _leave(self, command: Leave) -> ticks.AnyTick:
        """Process what a contract sends out of a loop."""
        altered: dict[int, list[Message | None]] = {}
        try:
            for edge, emission in command.emissions.items():
                process = self._binding.edges[edge].process
                if process is not None:
                    altered[edge] = [process(message) for message in emission.messages]
        except Exception as error:
            text = f"the way out of loop {command.frame.scope.name!r} failed: {describe(error)}"
            return ticks.Aborted(self._clock(), "step_failed", text)
        return ticks.WayOut(self._clock(), command.frame.entry, altered)


def _signed(message: Message, source: str) -> Message:
    """The message with its source; a fresh one is signed in place, a shared one is copied."""
    if message.source == source:
        return message
    if not message.source:
        msgspec.structs.force_setattr(message, "source", source)
        return message
    return msgspec.structs.replace(message, source=source)


def _with(outcome: Emit, messages: list[Message]) -> Emit:
    return Emit(messages, outcome.state, outcome.verdict, outcome.report)
