"""What steps ask of the session around them: time, signals, leave to spend, durable sub-steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

from rondel.engine.core.effects import Command
from rondel.engine.core.fold import Core
from rondel.engine.core.step import Step
from rondel.engine.protocols import Usage
from rondel.engine.shell.budget_gate import Purse
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.exits import Halted, confined
from rondel.engine.ticks import AnyTick

_part: ContextVar[list[Usage] | None] = ContextVar("_part", default=None)
"""What the sub-step that this code runs in has been charged so far."""


class Shell(ABC):
    """The side of a session's runner that its steps see, and what is done with their ticks."""

    __slots__ = ("core", "session")

    def __init__(self, session: str, core: Core) -> None:
        self.session = session
        self.core = core

    @abstractmethod
    def live(self, step: Step, event: str, data: dict[str, Any], /) -> None:
        """Publish a live event."""

    @abstractmethod
    def record(self, tick: AnyTick, /) -> tuple[AnyTick, Awaitable[None] | None]:
        """Make a tick durable, or one put in its place; None means that it already is."""

    @abstractmethod
    def applied(self) -> None:
        """A tick was folded in that changed the status, or it is time for a look."""

    @abstractmethod
    def time_is_up(self) -> None:
        """The session may have run as long as it is allowed to."""

    @abstractmethod
    def start_beside(self, command: Command, begun: StepContext | None) -> None:
        """Carry out a command beside others, or go on with it."""

    @abstractmethod
    async def keep_part(
        self, step: Step, name: str, value: Any, usage: list[Usage], event: str
    ) -> None:
        """Journal a sub-step."""

    @property
    def signals(self) -> Mapping[str, Any]:
        """What somebody outside told the session so far."""
        return self.core.signals

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the session was started with."""
        return self.core.inputs

    @property
    @abstractmethod
    def purse(self) -> Purse:
        """Who gives leave for model calls."""

    def active_at(self, now: float) -> float:
        """Seconds the session has run until then, waiting excluded."""
        return now - self.core.started_at - self.core.idle

    async def substep(
        self, ctx: StepContext, name: str, call: Callable[[], Awaitable[Any]], event: str
    ) -> Any:
        """What the sub-step gave when it was first done."""
        parts = ctx.step.parts
        if parts is not None and name in parts:
            return parts[name]
        self._raise_if_locked()
        spent: list[Usage] = []
        token = _part.set(spent)
        try:
            value = await _within(call)
            journalled, spent = spent, []
            await self.keep_part(ctx.step, name, value, journalled, event)
        finally:
            _part.reset(token)
            around = _part.get()
            if spent and around is not None:
                around += spent
            elif spent:
                ctx.usage = [*(ctx.usage or ()), *spent]
        return value

    async def reserve(self, ctx: StepContext, most: Callable[[], Usage | None]) -> None:
        """Return when the budgets around the step allow such a call."""
        self._raise_if_locked()
        await self.purse.reserve(ctx.step, most)
        self._raise_if_locked()

    def charge(self, ctx: StepContext, usage: Usage) -> None:
        """A model call was made."""
        spent = _part.get()
        if spent is None:
            spent = ctx.usage = ctx.usage or []
        spent.append(usage)
        self.purse.charge(ctx.step, usage)

    def _raise_if_locked(self) -> None:
        """Steps under way should not begin anything more."""
        if self.core.lock is not None:
            raise Halted


async def _within(call: Callable[[], Awaitable[Any]]) -> Any:
    """What it returns; it may run in a task, which ends the program with some errors."""
    try:
        return await call()
    except BaseException as error:
        found = confined(error)
        if found is error:
            raise
        raise found from error
