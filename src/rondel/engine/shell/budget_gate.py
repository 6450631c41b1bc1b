"""The gate before model calls: what the budgets around a step still allow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Any

from rondel.engine import ticks
from rondel.engine.core.frame import Frame
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.protocols import Usage
from rondel.graph.spec import BudgetSpec


class OverBudget(BaseException):
    """A budget is used up; no node is to catch this, so it is no Exception."""

    def __init__(self, entry: int) -> None:
        super().__init__(f"the budget of entry {entry} is used up")
        self.entry = entry


@dataclass(eq=False, slots=True)
class Flight:
    """A model call that has leave and has not been charged yet."""

    step: Step
    tokens: float
    usd: float
    """The most that it can come to, as `tokens` is."""
    task: asyncio.Task[Any] | None = None
    """Who makes it; when that is over, so is the call, however it ended."""


@dataclass(eq=False, slots=True)
class Waiter:
    """A call that waits until there is room in the budget of one entry."""

    entry: int
    turn: asyncio.Future[None]


_flight: ContextVar[Flight | None] = ContextVar("_flight", default=None)
"""The call that this code is making."""


class BudgetGate:
    """Gives leave for model calls, so that a budget is overrun by one call at most.

    What a call can take at most is set aside until it is paid. Where the rest of a budget does not
    cover all that would be in flight, a call waits for those that are; alone, it may be made as
    long as anything is left. Whoever comes first is served first.
    """

    __slots__ = ("_clock", "_flights", "_queue", "_state", "_unrecorded")

    def __init__(self, state: SessionState, clock: Callable[[], float]) -> None:
        self._state = state
        self._clock = clock
        self._flights: list[Flight] = []
        self._unrecorded: dict[int, tuple[Step, list[Usage]]] = {}
        """By step: what was charged and is in no tick yet."""
        self._queue: list[Waiter] = []
        """Those who wait until something is paid for, or will not be; in the order they came."""

    async def reserve(self, step: Step, most: Callable[[], Usage | None]) -> None:
        """Return when such a call may be made; raise OverBudget when none may be any more.

        `most` tells what the call can take at most, None that nobody knows.
        """
        self._land(step)
        frames = [frame for frame in step.frame.outward() if self._budget(frame).bounds]
        if not frames:
            return
        task = asyncio.current_task()
        known = most()
        flight = Flight(step, inf, inf, task)
        if known is not None:
            flight = Flight(step, known.tokens, known.usd, task)
        await self._turn(flight, frames)
        self._flights.append(flight)
        _flight.set(flight)
        if flight.task is not None:
            flight.task.add_done_callback(self._task_ended)

    def charge(self, step: Step, usage: Usage) -> None:
        """A call was made; it counts from now on, whenever it is recorded."""
        self._land(step)
        self._unrecorded.setdefault(step.number, (step, []))[1].append(usage)

    def time_left(self, step: Step) -> float | None:
        """Seconds until the first budget around a step is late; None if none ever is."""
        left = [self._left(frame, self._budget(frame)) for frame in step.frame.outward()]
        return min((seconds for seconds in left if seconds is not None), default=None)

    def settle(self, tick: ticks.AnyTick) -> None:
        """A tick is folded in: what it records is the state's to count."""
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
        for waiter in self._queue:
            if not waiter.turn.done():
                waiter.turn.set_result(None)

    async def _turn(self, flight: Flight, frames: list[Frame]) -> None:
        """Wait until every budget around the call has room for it."""
        waiter: Waiter | None = None
        try:
            while (entry := self._full(flight, frames, waiter)) is not None:
                turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                if waiter is None:
                    waiter = Waiter(entry, turn)
                    self._queue.append(waiter)
                elif waiter.entry != entry:
                    waiter.entry = entry
                    self._wake()  # whoever stood behind it at the other budget may go on
                waiter.turn = turn
                await turn
        finally:
            if waiter is not None:
                self._queue.remove(waiter)
                self._wake()

    def _full(self, flight: Flight, frames: list[Frame], waiter: Waiter | None) -> int | None:
        """The entry whose budget has no room for the call as yet, or None."""
        step = flight.step
        for frame in frames:
            bound, grants = self._budget(frame), frame.progress.grants
            spent = self._spent(frame)
            if _reaches(spent, bound, grants) or self._is_late(frame, bound):
                if any(flying.step is step for flying in self._flights):
                    return frame.entry  # what the step has in flight is still to be paid
                raise OverBudget(frame.entry)
            flying = [each for each in self._flights if frame in each.step.frame.outward()]
            if self._is_behind(waiter, frame.entry):
                return frame.entry
            if flying and _exceeds(spent, [*flying, flight], bound, grants):
                return frame.entry
        return None

    def _is_behind(self, waiter: Waiter | None, entry: int) -> bool:
        """Whether somebody who came earlier waits for room in the same budget."""
        for earlier in self._queue:
            if earlier is waiter:
                return False
            if earlier.entry == entry:
                return True
        return False

    def _spent(self, frame: Frame) -> Usage:
        progress = frame.progress
        calls = [
            usage
            for step, charged in self._unrecorded.values()
            if frame in step.frame.outward()
            for usage in charged
        ]
        tokens = progress.tokens + sum(usage.tokens for usage in calls)
        return Usage(input_tokens=tokens, usd=progress.usd + sum(usage.usd for usage in calls))

    def _is_late(self, frame: Frame, bound: BudgetSpec) -> bool:
        left = self._left(frame, bound)
        return left is not None and left <= 0

    def _left(self, frame: Frame, bound: BudgetSpec) -> float | None:
        if bound.wall_time is None:
            return None
        state, progress = self._state, frame.progress
        ran = self._clock() - state.started_at - state.idle - progress.active_at_start
        return bound.wall_time * progress.grants - ran

    def _budget(self, frame: Frame) -> BudgetSpec:
        if frame.parent is None:
            return self._state.plan.spec.limits.budget
        return frame.scope.contract.budget


def _reaches(spent: Usage, bound: BudgetSpec, grants: int) -> bool:
    tokens = bound.tokens is not None and spent.tokens >= bound.tokens * grants
    return tokens or (bound.usd is not None and spent.usd >= bound.usd * grants)


def _exceeds(spent: Usage, flights: list[Flight], bound: BudgetSpec, grants: int) -> bool:
    tokens = spent.tokens + sum(flight.tokens for flight in flights)
    usd = spent.usd + sum(flight.usd for flight in flights)
    over = bound.tokens is not None and tokens > bound.tokens * grants
    return over or (bound.usd is not None and usd > bound.usd * grants)
