"""Events of all sessions: state changes, questions, locks and ends, for whoever may see them."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

import msgspec
from cachetools import LRUCache
from msgspec.structs import replace

from rondel.errors import RondelError
from rondel.journal.store import SessionRow
from rondel.sessions.engine import Engine
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator

TOLD = frozenset(
    {
        "session_state_change",
        "human_input_required",
        "human_input_received",
        "circuit_breaker:tripped",
        "circuit_breaker:unlocked",
        "circuit_breaker:warning",
        "loop:exited",
    }
)
"""The events of the feed."""

RING = 8192
TURN = 256
PAGE = 500
SLACK = 2.0
"""The most seconds by which writes may become visible out of order."""

LINGER = 300.0
"""Seconds for which the feed goes on after its last reader has left."""

PAUSE = 0.02
"""Seconds in which more news comes, to be told together."""

POLL = 1.0
"""Seconds between looks for what other processes wrote."""

FOLLOWED = 256
"""The most sessions that are folded on from where they were; others are folded anew."""

REMEMBERED = 20_000
"""The most sessions of which is known what was sent."""

LIVELY = (None, "running", "waiting", "paused", "suspended_locked")
"""States of sessions that other processes may have changed; None: the newest of all."""

Sees = Callable[[SessionRow], bool]


_encode = msgspec.json.Encoder().encode


class FeedItem(NamedTuple):
    """An event's bytes, and the row of its session without its graph."""

    row: SessionRow
    json: bytes


class SessionReader:
    """Tells the events of one session, each tick folded once."""

    def __init__(self, engine: Engine, id: str) -> None:
        self._engine = engine
        self._id = id
        self._narrator = Narrator(id, engine.get(id).plan)
        self._position = 0
        """How many ticks it has folded."""

    @property
    def is_over(self) -> bool:
        """Whether the session has ended."""
        return self._narrator.state.ended

    async def news(self, after: int) -> AsyncIterator[Event]:
        """The events of the feed since the last look, those up to a number left out."""
        for ticks in self._engine.store.scan(self._id, self._position):
            for tick in ticks:
                self._position += 1
                for event in self._narrator.fold(tick):
                    if event.event in TOLD and event.seq is not None and event.seq > after:
                        yield event
                if self._position % TURN == 0:
                    await asyncio.sleep(0)


class Feed:
    """Follows the sessions that have news, while anybody reads; each reader keeps its place.

    The id of an event is BOOT-NUMBER-SECONDS: within one server its number is its place, and
    after a restart its time says what a reader has seen.
    """

    def __init__(self, engine: Engine) -> None:
        self.listeners: list[Callable[[str, str | None], None]] = []
        """Callbacks for sessions with news."""
        self._engine = engine
        self._boot = ""
        self._ring: deque[FeedItem] = deque(maxlen=RING)
        self._put = 0
        self._told: LRUCache[str, int] = LRUCache(REMEMBERED)
        """The number of the newest sent event, by session."""
        self._sessions: LRUCache[str, SessionReader] = LRUCache(FOLLOWED)
        """Sessions with news that go on."""
        self._dirty: dict[str, None] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._news: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._began = 0.0
        self._until = 0.0
        self.readers = 0
        self.closing = False

    def open(self) -> None:
        """Begin to follow, in the running event loop."""
        self._news = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._follow())

    def close(self) -> None:
        """Stop, and end all readers."""
        self.closing = True
        if self._task is not None:
            self._task.cancel()
        self._wake()

    def changed(self, id: str, status: str | None) -> None:
        """A session has news, and they can be read."""
        for listener in self.listeners:
            listener(id, status)
        if self._is_followed:
            self._dirty[id] = None
            if self._news is not None:
                self._news.set()

    async def read(self, last_id: str | None, sees: Sees) -> AsyncIterator[list[bytes]]:
        """What happened after the event of that id, and what happens from now on, as SSE frames."""
        if not self._is_followed:
            self._begin()
        self.readers += 1
        try:
            place, since = self._place(last_id)
            if since is not None:
                async for told in self._missed(since, sees):
                    yield told
            while not self.closing:
                batch = self._batch(place, sees)
                place = self._put
                yield batch
                if place == self._put and not self.closing:
                    await self._next()
        finally:
            self.readers -= 1
            self._until = time.time() + LINGER

    # Inside

    @property
    def _is_followed(self) -> bool:
        return self.readers > 0 or time.time() < self._until

    def _begin(self) -> None:
        """Begin to follow; numbers from before are not valid any more."""
        self._began = time.time()
        self._boot = f"{int(self._began * 1000):x}{os.getpid():x}"
        self._ring.clear()
        self._forget()
        self._put = 0

    def _forget(self) -> None:
        self._told.clear()
        self._sessions.clear()
        self._dirty.clear()

    def _batch(self, place: int, sees: Sees) -> list[bytes]:
        first = self._put - len(self._ring)
        start = max(place - first, 0)
        numbered = list(enumerate(self._ring, first + 1))[start:]
        return [self._frame(number, item) for number, item in numbered if sees(item.row)]

    def _frame(self, number: int, item: FeedItem) -> bytes:
        at = f"{time.time() - SLACK:.3f}"
        return b"id: %b-%d-%b\ndata: %b\n\n" % (
            self._boot.encode(),
            number,
            at.encode(),
            item.json,
        )

    def _place(self, last_id: str | None) -> tuple[int, float | None]:
        """A reader's place in the ring, and the time since which it missed events, if any."""
        boot, _, rest = (last_id or "").partition("-")
        number, _, seconds = rest.partition("-")
        if not number.isdecimal():
            return self._put, None
        if boot == self._boot and int(number) >= self._put - len(self._ring):
            return min(int(number), self._put), None
        try:
            return self._put, float(seconds)
        except ValueError:
            return self._put, None

    async def _missed(self, since: float, sees: Sees) -> AsyncIterator[list[bytes]]:
        """The events since a time, from the journals."""
        before: str | None = None
        while True:
            page = self._engine.sessions(before=before, limit=PAGE)
            for row in page.rows:
                if row.updated_at < since or not sees(row):
                    continue
                reader = SessionReader(self._engine, row.id)
                events = [event async for event in reader.news(0) if _time(event) >= since]
                yield [self._frame(0, FeedItem(row, _encode(event))) for event in events]
            before = page.next
            if before is None:
                return
            await asyncio.sleep(0)

    async def _follow(self) -> None:
        assert self._news is not None  # noqa: S101
        changes, looked = self._engine.store.changes(), time.time()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), POLL)
            self._news.clear()
            if not self._is_followed:
                self._forget()
                continue
            await asyncio.sleep(PAUSE)
            with suppress(RondelError):
                now = self._engine.store.changes()
                if now != changes:
                    since, changes, looked = looked, now, time.time()
                    self._look_around(since - SLACK)
            dirty, self._dirty = self._dirty, {}
            for changed in dirty:
                with suppress(RondelError):
                    await self._tell(changed)

    def _look_around(self, since: float) -> None:
        """Another process wrote: note which sessions have changed."""
        for status in LIVELY:
            for row in self._engine.sessions(status, limit=PAGE).rows:
                if row.updated_at >= since:
                    self._dirty[row.id] = None

    async def _tell(self, id: str) -> None:
        row = self._engine.store.session(id)
        if row is None:
            return
        reader = self._sessions.pop(id, None) or SessionReader(self._engine, id)
        slim = replace(row, document={}, includes={}, inputs={})
        after = self._told.get(id)
        try:
            async for event in reader.news(after or 0):
                if after is not None or _time(event) >= self._began:  # what was before is no news
                    self._put_in(slim, event)
        finally:
            self._wake()
        if not reader.is_over:
            self._sessions[id] = reader

    def _put_in(self, row: SessionRow, event: Event) -> None:
        self._ring.append(FeedItem(row, _encode(event)))
        self._put += 1
        self._told[row.id] = event.seq or 0

    async def _next(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


def _time(event: Event) -> float:
    return datetime.fromisoformat(event.timestamp).timestamp()
