"""Watching a session: live, from the start or from any event on, at the watcher's own pace.

A watcher folds the journal itself until it has all of it. Then, if this process drives the session,
it follows the driver: that folds every tick anyway, and the watcher only tells what it finds. The
engine never waits for a watcher, and a watcher misses no durable event, however slow it is: one
that falls far behind reads the journal again. Only live events (tokens) are dropped then.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Protocol
from weakref import ref

from rondel.engine.shell.notifier import Notifier, ring, wake
from rondel.engine.ticks import AnyTick
from rondel.errors import JournalUnwritable
from rondel.journal.store import Durable
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator

if TYPE_CHECKING:
    from rondel.sessions.local_session import LocalSession

LIVE_LIMIT = 4096
"""How many live events a watcher may lag behind before the oldest are dropped."""

TOLD_LIMIT = 4096
"""How many ticks a watcher may lag behind the driver before it reads the journal again."""

BATCH = 256
"""How many ticks a watcher folds before others get their turn."""


class Listener(Protocol):
    """Receives live events."""

    def hear(self, position: int, event: Event) -> None:
        """Take a live event that happened after `position` ticks."""
        ...


class Audience(Notifier):
    """The watchers of a session, and those who wait until it stops or goes on.

    The notifier wakes them at every tick, and at every turn: when it comes to rest or goes on.
    """

    __slots__ = ("_listeners", "_turned", "followers")

    def __init__(self) -> None:
        super().__init__()
        self._turned: list[asyncio.Future[None]] | None = None
        self._listeners: list[ref[Listener]] | None = None
        self.followers: list[ref[Watcher]] | None = None
        """Those who tell what the driver of the session folds."""

    def turn(self) -> None:
        """The session has come to rest, or goes on."""
        if self._turned is not None:
            turned, self._turned = self._turned, None
            wake(turned)
        ring(self)

    def next_turn(self) -> asyncio.Future[None]:
        """An awaitable until the session comes to rest or goes on."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._turned is None:
            self._turned = [future]
        else:
            self._turned.append(future)
        return future

    # Live events

    def join(self, listener: Listener) -> None:
        """Send live events to this listener, as long as somebody references it."""
        if self._listeners is None:
            self._listeners = []
        self._listeners.append(ref(listener, self._listeners.remove))

    @property
    def is_there(self) -> bool:
        """Whether anybody watches."""
        return bool(self._listeners)

    def hear(self, position: int, event: Event) -> None:
        """Pass on a live event that happened after `position` ticks."""
        for known in self._listeners or ():
            listener = known()
            if listener is not None:
                listener.hear(position, event)
        ring(self)

    # Ticks

    def follow(self, watcher: Watcher) -> None:
        """Hand every tick that is recorded from now on to this watcher, while it is referenced."""
        if self.followers is None:
            self.followers = []
        self.followers.append(ref(watcher, self.followers.remove))

    def unfollow(self, watcher: Watcher) -> None:
        """Hand no tick to this watcher any more."""
        if self.followers is not None:
            self.followers[:] = [known for known in self.followers if known() is not watcher]

    def recorded(self, tick: AnyTick, durable: Durable) -> None:
        """Hand on a tick that the driver has recorded and folded."""
        for known in self.followers or ():
            follower = known()
            if follower is not None:
                follower.recorded(tick, durable)

    def dismiss(self, *, broken: bool) -> None:
        """Nobody here drives the session any more: from now on, watchers read the journal."""
        followers, self.followers = self.followers, None
        for known in followers or ():
            follower = known()
            if follower is not None:
                follower.dismiss(broken=broken)


class Watcher:
    """One reader of a session's events."""

    def __init__(self, session: LocalSession, after: int, *, debug: bool) -> None:
        self._session = session
        self._after = after
        self._debug = debug
        self._narrator = Narrator(session.id, session.plan, debug)
        self._position = 0
        """How many ticks were handed out as events."""
        self._live: deque[tuple[int, Event]] = deque(maxlen=LIVE_LIMIT)
        self._told: deque[tuple[Durable, list[Event]]] = deque()
        """The events of ticks that the driver has folded; they are handed out once durable."""
        self._since = -1
        """After how many ticks it joined the driver; -1 if it did not."""
        self._missed: list[tuple[AnyTick, Durable]] | None = None
        """The ticks since then, until all those before are durable and read."""
        self._may_follow = True
        self.is_behind = True
        """Whether there may be more to take at once."""
        session.audience.join(self)

    # Called by the session

    def hear(self, position: int, event: Event) -> None:
        """Take a live event that happened after `position` ticks."""
        self._live.append((position, event))

    def recorded(self, tick: AnyTick, durable: Durable) -> None:
        """Take a tick that the driver has recorded and folded."""
        if self._missed is not None:
            self._missed.append((tick, durable))
        else:
            self._told.append((durable, self._new(self._narrator.events_of(tick))))
            if len(self._told) > TOLD_LIMIT:
                self._session.audience.unfollow(self)
                self._may_follow = False
                self._begin_again()

    def dismiss(self, *, broken: bool) -> None:
        """The session is not driven here any more."""
        self._since, self._missed = -1, None
        if broken or not all(_is_durable(durable) for durable, _ in self._told):
            self._begin_again()

    # Called by the reader

    async def events(self) -> AsyncIterator[Event]:
        """Every durable event after the given number, with live ones between, until the end."""
        while True:
            told = await self._events_when_readable()
            for event in told:
                yield event
            if self.over:
                return
            if self.is_behind:
                await asyncio.sleep(0)
            elif not told:
                await self._session.audience.wait()

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call this from now on, whenever there may be new events."""
        audience = self._session.audience
        audience.callbacks = [*(audience.callbacks or ()), callback]

    def unsubscribe(self, callback: Callable[[], None]) -> None:
        """Stop calling this."""
        audience = self._session.audience
        others = [known for known in audience.callbacks or () if known != callback]
        audience.callbacks = others or None
        audience.unfollow(self)

    def next_events(self) -> list[Event]:
        """The next events, at most a batch; raises if the session can no longer be driven."""
        found = self._take_told() if self._told else []
        if self._told or self.follows:
            self.is_behind = bool(self._told) and _is_durable(self._told[0][0])
        elif found:
            self.is_behind = True
        else:
            found = self._read()
        return found + self._heard() if self._live else found

    def back(self) -> Durable:
        """An awaitable until the store can be read again; None if it never can."""
        return self._session.store.ready()

    @property
    def over(self) -> bool:
        """Whether the session has ended, as far as it was handed out."""
        return self._narrator.state.ended and not self._told

    # With the driver

    @property
    def follows(self) -> bool:
        """Whether it tells what the driver folds, and reads nothing itself."""
        return self._since >= 0 and self._missed is None

    def _take_told(self) -> list[Event]:
        found: list[Event] = []
        for _ in range(BATCH):
            if not self._told or not _is_durable(self._told[0][0]):
                break
            if self._live:
                found += self._heard()
            found += self._told.popleft()[1]
            self._position += 1
        return found

    def _join(self) -> None:
        """Follow the driver, if there is one, once all that it recorded before is read."""
        audience, drive = self._session.audience, self._session.drive
        if drive is None or not self._may_follow or self._position > drive.length:
            return
        if self._since < 0:
            self._since, self._missed = drive.length, []
            audience.follow(self)
        if self._missed is None or self._position < self._since:
            return
        missed, self._missed = self._missed[self._position - self._since :], None
        for tick, durable in missed:
            self._told.append((durable, self._new(self._narrator.fold(tick))))
        self._narrator.follow(drive.state)

    def _begin_again(self) -> None:
        """Leave the driver, and read the journal from its beginning; nothing is told twice."""
        told = [event.seq for _, events in self._told for event in events if event.seq is not None]
        self._after = max(self._after, told[0] - 1 if told else self._narrator.seq)
        self._told.clear()
        self._since, self._missed = -1, None
        self._narrator = Narrator(self._session.id, self._session.plan, self._debug)
        self._position = 0

    # Alone

    async def _events_when_readable(self) -> list[Event]:
        while True:
            try:
                return self.next_events()
            except JournalUnwritable:
                back = self.back()
                if back is None:
                    raise
            await back

    def _read(self) -> list[Event]:
        """The events of the next ticks of the journal."""
        start, found = self._position, []
        ticks = self._session.store.read(self._session.id, start, start + BATCH)
        for tick in ticks:
            if self._live:
                found += self._heard()
            found += self._new(self._narrator.fold(tick))
            self._position += 1
        self.is_behind = len(ticks) == BATCH
        if not (self.is_behind or self.over):
            if not found:
                self._session.check_alive()
            self._join()
        return found

    def _new(self, told: list[Event]) -> list[Event]:
        """The given events, without those up to number `after`."""
        if self._narrator.seq <= self._after:
            return []
        first = next((event.seq for event in told if event.seq is not None), None)
        if first is None or first > self._after:
            return told
        return [event for event in told if event.seq is None or event.seq > self._after]

    def _heard(self) -> list[Event]:
        heard = []
        while self._live and self._live[0][0] <= self._position:
            heard.append(self._live.popleft()[1])
        return heard


def _is_durable(durable: Durable) -> bool:
    if durable is None:
        return True
    assert isinstance(durable, asyncio.Future)  # noqa: S101
    return durable.done() and not durable.cancelled() and durable.exception() is None
