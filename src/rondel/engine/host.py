"""What the driver needs from the world it runs in: a clock, and commands carried out beside it.

The driver loop is deterministic but for one thing: which of several commands under way ends
first. `next` tells it, and the order of the ticks in the journal is its record. The embedded host
is asyncio; a host on a durable engine starts each command as a journalled step under its
number and records every wait.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

from rondel.engine.effects import Command
from rondel.engine.ticks import AnyTick

Outcome = tuple[AnyTick | None, Command]
"""What came of a command; None if it was put off."""


class Host(Protocol):
    """A few verbs; nothing of a session is kept here."""

    busy: int
    """How much was started that `next` has not told yet."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def start(self, command: Command, call: Callable[[], Awaitable[Outcome]]) -> None:
        """Begin a command beside the driver."""
        ...

    @property
    def has_news(self) -> bool:
        """Whether some command has ended, so that `next` returns at once."""
        ...

    async def next(self) -> Outcome | None:
        """What came of whichever command ended first; None if `wake` was called instead."""
        ...

    def wake(self) -> None:
        """Let `next` return: something else has happened."""
        ...

    async def cancel(self) -> None:
        """Stop everything under way; returns when it has stopped."""
        ...


class AsyncioHost:
    """Commands as tasks of the running event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._outcomes: deque[Outcome | BaseException] = deque()
        self._news = asyncio.Event()
        self.busy = 0

    now = staticmethod(time.time)

    def start(self, command: Command, call: Callable[[], Awaitable[Outcome]]) -> None:  # noqa: ARG002
        """Begin a command as a task."""
        self.busy += 1
        self._tasks.add(asyncio.get_running_loop().create_task(self._run(call)))

    @property
    def has_news(self) -> bool:
        """Whether some command has ended."""
        return bool(self._outcomes)

    async def next(self) -> Outcome | None:
        """What ended first, or None after `wake`."""
        if not self._outcomes:
            self._news.clear()
            await self._news.wait()
        if not self._outcomes:
            return None
        outcome = self._outcomes.popleft()
        self.busy -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def wake(self) -> None:
        """Let `next` return."""
        self._news.set()

    async def cancel(self) -> None:
        """Cancel all tasks, and wait until they are gone."""
        tasks = list(self._tasks)
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        self._outcomes.clear()
        self.busy = 0

    async def _run(self, call: Callable[[], Awaitable[Outcome]]) -> None:
        try:
            self._outcomes.append(await call())
        except BaseException as error:  # not a node's failure: the driver must end with it
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            self._outcomes.append(error)
        self._tasks.discard(asyncio.current_task())
        self._news.set()
