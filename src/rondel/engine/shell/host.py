"""What the driver needs from the world it runs in: a clock, and commands carried out beside it.

The driver loop is deterministic but for one thing: which of several commands under way ends
first. `next` tells it, and the order of the ticks in the journal is its record. The embedded host
is asyncio; a host on a durable engine starts each command as a journalled step under its
number and records every wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

from rondel.engine.core.effects import Command
from rondel.engine.ticks import AnyTick

Ended = tuple[AnyTick | None, Command]
"""A command that ended, with the tick that says what came of it; None if it was put off."""


class Host(Protocol):
    """A few verbs; nothing of a session is kept here."""

    busy: int
    """How much was started that `next` has not told yet."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def start(self, command: Command, call: Callable[[], Awaitable[Ended]]) -> None:
        """Begin a command beside the driver."""
        ...

    @property
    def has_news(self) -> bool:
        """Whether some command has ended, so that `next` returns at once."""
        ...

    async def next(self) -> Ended | None:
        """What came of whichever command ended first; None if `wake` was called instead."""
        ...

    def wake(self) -> None:
        """Let `next` return: something else has happened."""
        ...

    async def cancel(self) -> None:
        """Stop everything under way; returns when it has stopped."""
        ...

    def set_alarm(self, who: Alarmed, after: float) -> None:
        """Tell somebody when so many seconds have passed, and not at the time set before."""
        ...

    def clear_alarm(self, who: Alarmed) -> None:
        """Do not tell them any more."""
        ...


class Alarmed(Protocol):
    """Who wants to know that time has passed."""

    def time_is_up(self) -> None:
        """The time that was set has passed."""
        ...


class Alarms:
    """One timer of an event loop for all who want to know that time has passed.

    A timer each would be one more object a session, and one more level in the heap of the loop
    that every sleeping node goes through.
    """

    __slots__ = ("_loop", "_timer", "_times")

    def __init__(self) -> None:
        self._times: dict[Alarmed, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def set(self, who: Alarmed, after: float) -> None:
        """Tell somebody after so many seconds."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._timer = loop, None
        at = self._times[who] = loop.time() + after
        if self._timer is None or at < self._timer.when():
            self._wind(loop, at)

    def clear(self, who: Alarmed) -> None:
        """Do not tell them any more; the timer stays, for the next who sets one."""
        self._times.pop(who, None)

    def close(self) -> None:
        """Tell nobody any more."""
        self._times.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _wind(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(at, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for who in [who for who, at in self._times.items() if at <= now]:
            del self._times[who]
            who.time_is_up()
        if self._times and self._timer is None:
            self._wind(loop, min(self._times.values()))


class AsyncioHost:
    """Commands as tasks of the running event loop; it holds nothing until one is started."""

    __slots__ = ("_alarms", "_outcomes", "_tasks", "_waiter", "busy", "now")

    def __init__(self, alarms: Alarms, now: Callable[[], float]) -> None:
        self._alarms = alarms
        self.now = now
        """Seconds since the epoch, of a clock that never jumps."""
        self._tasks: set[asyncio.Task[None]] | None = None
        self._outcomes: deque[Ended | BaseException] | None = None
        self._waiter: asyncio.Future[None] | None = None
        """What `next` waits for."""
        self.busy = 0

    def start(self, command: Command, call: Callable[[], Awaitable[Ended]]) -> None:  # noqa: ARG002
        """Begin a command as a task."""
        if self._tasks is None:
            self._tasks = set()
        self.busy += 1
        self._tasks.add(asyncio.get_running_loop().create_task(self._run(call)))

    @property
    def has_news(self) -> bool:
        """Whether some command has ended."""
        return bool(self._outcomes)

    async def next(self) -> Ended | None:
        """What ended first, or None after `wake`."""
        if not self._outcomes:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if not self._outcomes:
            return None
        outcome = self._outcomes.popleft()
        self.busy -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def wake(self) -> None:
        """Let `next` return."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def cancel(self) -> None:
        """Cancel all tasks, and wait until they are gone."""
        tasks, self._tasks = self._tasks, None
        if tasks:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._outcomes = None
        self.busy = 0

    def set_alarm(self, who: Alarmed, after: float) -> None:
        """Tell somebody when so many seconds have passed."""
        self._alarms.set(who, after)

    def clear_alarm(self, who: Alarmed) -> None:
        """Do not tell them any more."""
        self._alarms.clear(who)

    async def _run(self, call: Callable[[], Awaitable[Ended]]) -> None:
        try:
            self._tell(await call())
        except BaseException as error:  # not a node's failure: the driver must end with it
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            self._tell(error)
        if self._tasks is not None:
            self._tasks.discard(asyncio.current_task())
        self.wake()

    def _tell(self, outcome: Ended | BaseException) -> None:
        if self._outcomes is None:
            self._outcomes = deque()
        self._outcomes.append(outcome)
