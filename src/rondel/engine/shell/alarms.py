"""One timer of an event loop for all who want to know that time has passed."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Alarmed(Protocol):
    """Who wants to know that time has passed."""

    def time_is_up(self) -> None:
        """The time that was set has passed."""
        ...


class Alarms:
    """Tells each of them when its time has passed.

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
