"""Leave to spend: what the budgets around a step still allow, calls in flight counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from rondel.engine import ticks
from rondel.engine.core import Core
from rondel.engine.frame import Frame
from rondel.engine.protocols import Usage
from rondel.engine.step import Step
from rondel.graph.spec import Budget


class OverBudget(BaseException):
    """A budget is used up; no node is to catch this, so it is no Exception."""

    def __init__(self, entry: int) -> None:
        super().__init__(f"the budget of entry {entry} is used up")
        self.entry = entry


@dataclass(eq=False, slots=True)
class Flight:
    """A model call that has leave and has not been charged yet."""

    step: Step
    estimate: Usage
    task: asyncio.Task[Any] | None = None
    """Who makes it; when that is over, so is the call, however it ended."""


_flight: ContextVar[Flight | None] = ContextVar("_flight", default=None)
"""The call that this code is making."""


class Purse:
    """Gives leave for model calls, so that a budget is overrun by one call at most."""

    __slots__ = ("_clock", "_core", "_flights", "_unrecorded", "_waiting")

    def __init__(self, core: Core, clock: Callable[[], float]) -> None:
        self._core = core
        self._clock = clock
        self._flights: list[Flight] = []
        self._unrecorded: dict[int, tuple[Step, list[Usage]]] = {}
        """By step: what was charged and is in no tick yet."""
        self._waiting: list[asyncio.Future[None]] = []
        """Those who wait until something is paid for, or will not be."""

    async def reserve(self, step: Step, estimate: Callable[[], Usage]) -> None:
        """Return when such a call may be made; raise OverBudget when none may be any more."""
        self._land(step)
        frames = [frame for frame in _around(step.frame) if self._budget(frame).bounds]
        if not frames:
            return
        wanted = estimate()
        while not self._allow(step, frames, wanted):
            paid: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(paid)
            await paid
        flight = Flight(step, wanted, asyncio.current_task())
        self._flights.append(flight)
        _flight.set(flight)
        if flight.task is not None:
            flight.task.add_done_callback(self._task_ended)

    def charge(self, step: Step, usage: Usage) -> None:
        """A call was made; it counts from now on, whenever it is recorded."""
        self._land(step)
        self._unrecorded.setdefault(step.number, (step, []))[1].append(usage)

    def settle(self, tick: ticks.AnyTick) -> None:
        """A tick is folded in: what it records is the core's to count."""
        number = getattr(tick, "step", None)
        if number is None or not (self._unrecorded or self._flights):
            return
        if isinstance(tick, ticks.Substepped | ticks.Spent):
            _, charged = self._unrecorded.get(number, (None, []))
            for usage in tick.usage:
                if usage in charged:
                    charged.remove(usage)
        else:
            self._unrecorded.pop(number, None)
            self._remove([f for f in self._flights if f.step.number == number])
        self._wake()

    def unrecorded(self, step: Step) -> list[Usage]:
        """What the step has been charged and no tick has yet."""
        return list(self._unrecorded.get(step.number, (step, []))[1])

    def _land(self, step: Step) -> None:
        flight = _flight.get()
        if flight is not None and flight.step is step and flight in self._flights:
            self._remove([flight])

    def _task_ended(self, task: asyncio.Task[Any]) -> None:
        self._remove([flight for flight in self._flights if flight.task is task])

    def _remove(self, flights: list[Flight]) -> None:
        for flight in flights:
            self._flights.remove(flight)
            if flight.task is not None:
                flight.task.remove_done_callback(self._task_ended)
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for paid in waiting:
            if not paid.done():
                paid.set_result(None)

    def _allow(self, step: Step, frames: list[Frame], wanted: Usage) -> bool:
        for frame in frames:
            bound, grants = self._budget(frame), frame.progress.grants
            spent = self._spent(frame)
            if _reaches(spent, bound, grants) or self._is_late(frame, bound):
                if any(flight.step is step for flight in self._flights):
                    return False  # what the step has in flight is still to be paid
                raise OverBudget(frame.entry)
            flying = [f.estimate for f in self._flights if frame in _around(f.step.frame)]
            total = [spent, wanted, *flying]
            if flying and _exceeds(total, bound, grants):
                return False
        return True

    def _spent(self, frame: Frame) -> Usage:
        progress = frame.progress
        calls = [
            usage
            for step, charged in self._unrecorded.values()
            if frame in _around(step.frame)
            for usage in charged
        ]
        tokens = progress.tokens + sum(usage.tokens for usage in calls)
        return Usage(input_tokens=tokens, usd=progress.usd + sum(usage.usd for usage in calls))

    def _is_late(self, frame: Frame, bound: Budget) -> bool:
        if bound.wall_time is None:
            return False
        core, progress = self._core, frame.progress
        ran = self._clock() - core.started_at - core.idle - progress.active_at_start
        return ran >= bound.wall_time * progress.grants

    def _budget(self, frame: Frame) -> Budget:
        if frame.parent is None:
            return self._core.plan.spec.limits.budget
        return frame.scope.contract.budget


def _around(frame: Frame) -> Iterator[Frame]:
    around: Frame | None = frame
    while around is not None:
        yield around
        around = around.parent


def _reaches(spent: Usage, bound: Budget, grants: int) -> bool:
    tokens = bound.tokens is not None and spent.tokens >= bound.tokens * grants
    return tokens or (bound.usd is not None and spent.usd >= bound.usd * grants)


def _exceeds(usage: list[Usage], bound: Budget, grants: int) -> bool:
    tokens, usd = sum(call.tokens for call in usage), sum(call.usd for call in usage)
    over = bound.tokens is not None and tokens > bound.tokens * grants
    return over or (bound.usd is not None and usd > bound.usd * grants)
