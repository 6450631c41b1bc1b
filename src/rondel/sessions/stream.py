"""Watching a session: live, from the start or from any event on, at the watcher's own pace.

A watcher folds the journal itself, so the engine never waits for it and it can miss no durable
event, however slow it is. Only live events (tokens) are dropped when it lags too far behind.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol
from weakref import WeakSet

from rondel.engine.shell.notifier import Notifier, wake
from rondel.engine.ticks import AnyTick
from rondel.errors import JournalUnwritable
from rondel.journal.store import Durable
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator

LIVE_LIMIT = 4096
"""How many live events a watcher may lag behind before the oldest are dropped."""

BATCH = 256
"""How many ticks a watcher folds before others get their turn."""


class Listener(Protocol):
    """Receives live events."""

    def hear(self, position: int, event: Event) -> None:
        """Take a live event that happened after `position` ticks."""
        ...


class Audience(Notifier):
    """The watchers of a session, and those who wait until it comes to rest or goes on.

    The notifier wakes them at every tick, and at every turn: when it comes to rest or goes on.
    """

    __slots__ = ("_turned", "_watchers")

    def __init__(self) -> None:
        super().__init__()
        self._turned: list[asyncio.Future[None]] | None = None
        self._watchers: WeakSet[Listener] | None = None

    def turn(self) -> None:
        """The session has come to rest, or goes on."""
        if self._turned is not None:
            turned, self._turned = self._turned, None
            wake(turned)
        self.ring()

    def next_turn(self) -> asyncio.Future[None]:
        """An awaitable until the session comes to rest or goes on."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._turned is None:
            self._turned = [future]
        else:
            self._turned.append(future)
        return future

    def join(self, watcher: Listener) -> None:
        """Send live events to this watcher too."""
        if self._watchers is None:
            self._watchers = WeakSet()
        self._watchers.add(watcher)

    @property
    def is_there(self) -> bool:
        """Whether anybody watches."""
        return bool(self._watchers)

    def hear(self, position: int, event: Event) -> None:
        """Pass on a live event that happened after `position` ticks."""
        for watcher in self._watchers or ():
            watcher.hear(position, event)
        self.ring()


class Watcher:
    """One reader of a session's events."""

    def __init__(
        self,
        narrator: Narrator,
        read: Callable[[int], Sequence[AnyTick]],
        bell: Notifier,
        after: int,
        check: Callable[[], None],
        ready: Callable[[], Durable],
    ) -> None:
        self._narrator = narrator
        self._read = read
        self._bell = bell
        self._after = after
        self._check = check
        self._ready = ready
        self._position = 0
        self._live: deque[tuple[int, Event]] = deque(maxlen=LIVE_LIMIT)

    def hear(self, position: int, event: Event) -> None:
        """Take a live event that happened after `position` ticks."""
        self._live.append((position, event))

    async def events(self) -> AsyncIterator[Event]:
        """Every durable event after the given number, with live ones between, until the end."""
        while True:
            before = self._position
            for event in self._all_told(await self._next()):
                yield event
            if self.over:
                return
            if self._position == before:
                await self.news()
            elif self._position - before >= BATCH:
                await asyncio.sleep(0)

    def take(self) -> list[Event]:
        """The next events, at most a batch; raises if the session can no longer be driven."""
        return self._all_told(self._read(self._position))

    def back(self) -> Durable:
        """An awaitable until the store can be read again; None if it never can."""
        return self._ready()

    def news(self) -> asyncio.Future[None]:
        """An awaitable until something may have happened."""
        return self._bell.wait()

    @property
    def position(self) -> int:
        """How many ticks were read."""
        return self._position

    @property
    def over(self) -> bool:
        """Whether the session has ended, as far as it was read."""
        return self._narrator.state.ended

    async def _next(self) -> Sequence[AnyTick]:
        """The next ticks, once the store can be read."""
        while True:
            try:
                return self._read(self._position)
            except JournalUnwritable:
                back = self._ready()
                if back is None:
                    raise
            await back

    def _all_told(self, ticks: Sequence[AnyTick]) -> list[Event]:
        told = []
        for tick in ticks:
            told += self._told(tick)
        told += self._heard()
        if not ticks and not self.over:
            self._check()
        return told

    def _told(self, tick: AnyTick) -> list[Event]:
        live = self._heard() if self._live else []
        self._position += 1
        before = self._narrator.seq
        told = self._narrator.tell(tick)
        if self._narrator.seq <= self._after:
            return live
        if before < self._after:
            told = [e for e in told if e.seq is None or e.seq > self._after]
        return live + told if live else told

    def _heard(self) -> list[Event]:
        heard = []
        while self._live and self._live[0][0] <= self._position:
            heard.append(self._live.popleft()[1])
        return heard
