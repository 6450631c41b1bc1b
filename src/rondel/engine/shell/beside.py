"""Commands carried out beside the driver of a session.

The driver is deterministic but for one thing: which of several commands under way ends first.
`next` tells it, and the order of the ticks in the journal is its record.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from rondel.engine.core.effects import Command
from rondel.engine.ticks import AnyTick

Ended = tuple[AnyTick | None, Command]
"""A command that ended, with the tick that says what came of it; None if it was put off."""


class CommandTasks:
    """Commands as tasks of the running event loop; it holds nothing until one is started."""

    __slots__ = ("_outcomes", "_tasks", "_waiter")

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] | None = None
        self._outcomes: deque[Ended | BaseException] | None = None
        self._waiter: asyncio.Future[None] | None = None
        """What `next` waits for."""

    def start(self, call: Callable[[], Awaitable[Ended]]) -> None:
        """Begin a command as a task."""
        if self._tasks is None:
            self._tasks = set()
        self._tasks.add(asyncio.get_running_loop().create_task(self._run(call)))

    @property
    def has_news(self) -> bool:
        """Whether some command has ended, so that `next` returns at once."""
        return bool(self._outcomes)

    async def next(self) -> Ended | None:
        """What came of whichever command ended first; None if `wake` was called instead."""
        if not self._outcomes:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if not self._outcomes:
            return None
        outcome = self._outcomes.popleft()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def wake(self) -> None:
        """Let `next` return: something else has happened."""
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
