"""What steps ask of the session around them: inputs, signals, budgets, durable sub-steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

from rondel.engine import ticks
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.protocols import Usage
from rondel.engine.shell.budget_gate import BudgetGate
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.exits import Halted, confined
from rondel.engine.shell.stepper import Stepper, Unwritten

_part: ContextVar[list[Usage] | None] = ContextVar("_part", default=None)
"""What the sub-step that this code runs in has been charged so far."""


class StepServices:
    """Answers what the contexts of a session's steps ask for."""

    __slots__ = ("_clock", "_stepper", "session")

    def __init__(self, session: str, stepper: Stepper, clock: Callable[[], float]) -> None:
        self.session = session
        self._stepper = stepper
        self._clock = clock

    @property
    def state(self) -> SessionState:
        """The state of the session."""
        return self._stepper.state

    @property
    def signals(self) -> Mapping[str, Any]:
        """What somebody outside told the session so far."""
        return self.state.signals

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the session was started with."""
        return self.state.inputs

    @property
    def gate(self) -> BudgetGate:
        """Who gives leave for model calls."""
        return self._stepper.gate

    def active_at(self, now: float) -> float:
        """Seconds the session has run until then, waiting excluded."""
        return now - self.state.started_at - self.state.idle

    def emit(self, step: Step, event: str, data: dict[str, Any]) -> None:
        """Publish a live event of a step; it is not journalled."""
        self._stepper.emit(step, event, data)

    async def substep(
        self, ctx: StepContext, name: str, call: Callable[[], Awaitable[Any]], event: str
    ) -> Any:
        """What the sub-step gave when it was first done."""
        parts = ctx.step.parts
        if parts is not None and name in parts:
            return parts[name]
        await self._may_begin()
        spent: list[Usage] = []
        token = _part.set(spent)
        try:
            value = await _within(call)
            journalled, spent = spent, []
            if not self.state.ended:
                now, number = self._clock(), ctx.step.number
                part = ticks.Substepped(now, number, name, value, journalled, event)
                await write(self._stepper, self._stepper.enter(part))
        finally:
            _part.reset(token)
            around = _part.get()
            if spent and around is not None:
                around += spent
            elif spent:
                ctx.usage = [*(ctx.usage or ()), *spent]
        return value

    async def put_off(self, ctx: StepContext, error: str, wait: float) -> None:
        """An attempt failed: journal it with what it spent, and wait for the next one."""
        if not self.state.ended:
            usage, ctx.usage = ctx.usage or [], None
            now = self._clock()
            failed = ticks.Attempted(now, ctx.step.number, error, now + wait, usage)
            await write(self._stepper, self._stepper.enter(failed))
        await self.until_due(ctx)

    async def until_due(self, ctx: StepContext) -> None:
        """Wait for the next attempt, which an earlier process may have put off."""
        if ctx.step.attempts:
            await asyncio.sleep(max(ctx.step.due - self._clock(), 0.0))
            await self._may_begin()

    async def reserve(self, ctx: StepContext, most: Callable[[], Usage | None]) -> None:
        """Return when the budgets around the step allow such a call."""
        self._raise_if_locked()
        await self.gate.reserve(ctx.step, most)
        await self._may_begin()

    def charge(self, ctx: StepContext, usage: Usage) -> None:
        """A model call was made."""
        spent = _part.get()
        if spent is None:
            spent = ctx.usage = ctx.usage or []
        spent.append(usage)
        self.gate.charge(ctx.step, usage)

    async def _may_begin(self) -> None:
        """Return when a part of a step may begin; LeaseLost if the session is another's now."""
        self._raise_if_locked()
        if (held_up := self._stepper.may_begin()) is not None:
            await held_up
            self._raise_if_locked()

    def _raise_if_locked(self) -> None:
        """Steps under way should not begin anything more."""
        if self.state.lock is not None:
            raise Halted


async def write(stepper: Stepper, unwritten: Unwritten | None) -> None:
    """Wait until ticks are durable, and go on with what depends on them."""
    if unwritten is not None:
        for durable in unwritten.durable:
            await durable
        stepper.written(unwritten)


async def _within(call: Callable[[], Awaitable[Any]]) -> Any:
    """What it returns; it may run in a task, which ends the program with some errors."""
    try:
        return await call()
    except BaseException as error:
        found = confined(error)
        if found is error:
            raise
        raise found from error
