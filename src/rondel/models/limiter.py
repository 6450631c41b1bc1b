"""Limits the calls to a provider, at once and per minute, for all sessions of this process."""

from __future__ import annotations

import asyncio
import time
from bisect import insort
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from math import inf
from threading import Lock

from rondel.models.headers import Allowance, Headers, allowance_in

MINUTE = 60.0


def _untold(seconds: float) -> None:
    """The default for waits: tells nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    """A caller in the queue, of any event loop; it may enter when fewer than `most` are inside."""

    ticket: int
    most: int
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]


class Limiter:
    """First come, first served; it may be shared by event loops in several threads.

    A provider that says "later" is left alone by all until then, and gets fewer calls at once
    afterwards: half as many, and slowly more again with every answer. One that says what it still
    takes gets no more than that.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lock = Lock()
        self._inside = 0
        self._queue: list[_Waiter] = []
        self._starts: deque[float] = deque()
        self._tickets = count(1)
        self._until = -inf
        self._allowance: Allowance | None = None
        """The allowance that the provider reported last."""
        self._room = inf
        """The estimate of how many calls the provider accepts at once."""
        self.served = 0
        """The number of calls that the provider has answered."""

    def ticket(self) -> int:
        """A place in the queue; a retry keeps its place."""
        return next(self._tickets)

    @asynccontextmanager
    async def slot(
        self,
        most: int,
        per_minute: int | None,
        ticket: int | None = None,
        waits: Callable[[float], None] = _untold,
    ) -> AsyncIterator[None]:
        """Wait until fewer than `most` are inside and the minute has room, then be inside.

        `waits` is told the seconds of each wait whose end is known.
        """
        place = self.ticket() if ticket is None else ticket
        while True:
            await self._until_allowed(waits)
            await self._enter(most, place)
            try:
                if self._take():
                    if per_minute is not None:
                        await self._pace(per_minute, waits)
                    yield
                    return
            finally:
                self._leave()

    def hold(self, seconds: float) -> None:
        """Start no call for this many seconds."""
        with self._lock:
            now = self._clock()
            if self._until <= now:
                self._room = max(1.0, min(self._room, self._inside) // 2)
            self._until = max(self._until, now + seconds)

    def answered(self) -> None:
        """Note an answer: slightly more calls may run at once."""
        with self._lock:
            self.served += 1
            self._room += 1 / self._room

    def told(self, headers: Headers) -> None:
        """Note the allowance in a response's headers."""
        with self._lock:
            now = self._clock()
            said = allowance_in(headers, now, max(self._inside - 1, 0))
            if said is not None:
                self._allowance = said

    async def _until_allowed(self, waits: Callable[[float], None]) -> None:
        while (left := self._left()) > 0:
            waits(left)
            await self._sleep(left)

    def _left(self) -> float:
        """Seconds for which no call may start."""
        with self._lock:
            now, said = self._clock(), self._allowance
            return max(self._until - now, 0.0 if said is None else said.wait(now))

    def _take(self) -> bool:
        """Whether a call may start now; if so it is counted."""
        with self._lock:
            now, said = self._clock(), self._allowance
            if self._until > now or (said is not None and said.wait(now) > 0):
                return False
            if said is not None:
                said.take(now)
            return True

    async def _enter(self, most: int, ticket: int) -> None:
        with self._lock:
            if not self._queue and self._inside < min(most, self._room):
                self._inside += 1
                return
            loop = asyncio.get_running_loop()
            waiter = _Waiter(ticket, most, loop, loop.create_future())
            insort(self._queue, waiter, key=lambda each: each.ticket)
            self._admit()
        try:
            await waiter.turn
        except asyncio.CancelledError:
            self._withdraw(waiter)
            raise

    def _withdraw(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter in self._queue:
                self._queue.remove(waiter)
                self._admit()
                return
        self._leave()  # it was let in and does not come

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            self._admit()

    def _admit(self) -> None:
        """Admit waiters in order while there is room; the lock must be held."""
        while self._queue and self._inside < min(self._queue[0].most, self._room):
            waiter = self._queue.pop(0)
            if waiter.loop.is_closed():
                continue
            self._inside += 1
            waiter.loop.call_soon_threadsafe(_go, waiter.turn)

    async def _pace(self, per_minute: int, waits: Callable[[float], None]) -> None:
        """Take the next start that leaves no more than `per_minute` of them in any minute."""
        with self._lock:
            now = self._clock()
            while self._starts and self._starts[0] <= now - MINUTE:
                self._starts.popleft()
            start = now
            if len(self._starts) >= per_minute:
                start = max(now, self._starts[-per_minute] + MINUTE)
            self._starts.append(start)
        if start > now:
            waits(start - now)
            try:
                await self._sleep(start - now)
            except asyncio.CancelledError:
                with self._lock:
                    self._starts.remove(start)
                raise


def _go(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


_limiters: dict[tuple[str, str], Limiter] = {}
_making = Lock()


def limiter_of(provider: str, address: str) -> Limiter:
    """The one limiter of that provider at that address in this process."""
    with _making:
        return _limiters.setdefault((provider, address), Limiter())
