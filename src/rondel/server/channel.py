"""A session's events for all watchers: folded and encoded once, at each reader's own pace."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from rondel.errors import JournalUnwritable, RondelError
from rondel.server.live_text import TOKENS, WAITS, LiveText
from rondel.sessions.engine import Engine
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator
from rondel.sessions.session import Session

RING = 4096
"""The most frames kept for readers that are slightly behind; others read the journal."""

TURN = 256
"""The ticks after which a reader of the journal yields to other tasks."""

UNDER_WAY = ("running", "suspended")


class Batch(NamedTuple):
    """Events that are sent together, as server-sent events."""

    sse: bytes
    ends: Sequence[tuple[int | None, int]]
    """Of each event its number, if it is durable, and where it ends in `sse`."""

    @property
    def newest(self) -> int | None:
        """The number of the newest durable event."""
        return next((seq for seq, _ in reversed(self.ends) if seq is not None), None)

    def beyond(self, after: int, *, durable: bool = False) -> Batch:
        """Without the events up to that number; with `durable` also without live ones."""
        parts, ends, size = [], [], 0
        for seq, sse in self.events():
            if not durable if seq is None else seq > after:
                size += len(sse)
                parts.append(sse)
                ends.append((seq, size))
        return Batch(b"".join(parts), ends)

    def events(self) -> Iterator[tuple[int | None, bytes]]:
        """Each event's number and bytes."""
        start = 0
        for seq, end in self.ends:
            yield seq, self.sse[start:end]
            start = end

    def jsons(self) -> Iterator[str]:
        """Each event as JSON, as a socket sends it."""
        for _, sse in self.events():
            yield sse[sse.index(b"data: ") + 6 : -2].decode()


_encode_into = msgspec.json.Encoder().encode_into


def batch_of(events: Iterable[Event]) -> Batch:
    """Events as server-sent events, each encoded once."""
    sse, ends = bytearray(), []
    for event in events:
        seq = event.seq
        if seq is not None:
            sse += b"id: %d\n" % seq
        sse += b"data: "
        _encode_into(event, sse, -1)
        sse += b"\n\n"
        ends.append((seq, len(sse)))
    return Batch(bytes(sse), ends)


def together(batches: Sequence[Batch]) -> Batch:
    """Several batches as one."""
    if len(batches) == 1:
        return batches[0]
    ends, before = [], 0
    for batch in batches:
        ends += [(seq, before + end) for seq, end in batch.ends]
        before += len(batch.sse)
    return Batch(b"".join([batch.sse for batch in batches]), ends)


class Channel:
    """Encodes what one session tells, once for all who watch; each reader keeps only its place.

    It has no task: the session's notifier calls it, and it wakes who reads.
    """

    def __init__(self, engine: Engine, session: Session, texts: LiveText) -> None:
        self.session = session
        self.readers = 0
        self.over = False
        self._engine = engine
        self._texts = texts
        self._ring: deque[Batch] = deque()
        self._kept = 0
        """How many events the ring has."""
        self._put = 0
        """The number of batches ever put into the ring."""
        self._first_seq = 1
        """The oldest durable event that the ring still has, or will have."""
        self._waiting: list[asyncio.Future[None]] = []
        self._is_up_to_date = False
        """Whether the past is told; live texts are sent only after it."""
        self._is_due = False
        """Whether it is going to look for news."""
        self._coming_back: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._watcher = session.watcher()  # hears what is said from here on
        self._watcher.subscribe(self._rung)
        self._rung()

    def close(self) -> None:
        """Stop: nobody watches any more."""
        self.over = True
        self._watcher.unsubscribe(self._rung)
        if self._coming_back is not None:
            self._coming_back.cancel()

    def wake(self) -> None:
        """Let every reader look around."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def read(self, after: int) -> AsyncIterator[Batch]:
        """All events after a durable one; an empty batch after each `wake`."""
        seq, place, has_texts = after, -1, False
        while True:
            batch = Batch(b"", ())
            oldest = self._put - len(self._ring)
            if place < oldest:
                has_texts = False
                while seq + 1 < self._first_seq:
                    last = self._first_seq - 1
                    async for told in history(self._engine, self.session, seq, last):
                        seq = told.newest or seq
                        yield told
                batch = together(self._ring).beyond(seq, durable=True)
                place = self._put
            elif place < self._put:
                batch = self._ring[place - oldest]
                if 0 < seq == after:  # it has seen more than the ring began with
                    batch = batch.beyond(after)
                place += 1
            if not has_texts and self._is_up_to_date and place == self._put:
                has_texts = True
                texts = self._texts.events()
                batch = together([batch, batch_of(texts)]) if texts else batch
            seq = batch.newest or seq
            yield batch
            if place == self._put:
                if self.over:
                    return
                await self._next()

    # Inside

    async def _next(self) -> None:
        future = self._loop.create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            with suppress(ValueError):  # it was woken already
                self._waiting.remove(future)
            raise

    def _rung(self) -> None:
        """There is news: wait two turns, then send all of it together."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._loop.call_soon, self._go_on)

    def _go_on(self) -> None:
        """Take what there is; called again when there is more."""
        self._is_due = False
        if self.over:
            return
        watcher = self._watcher
        try:
            told = watcher.next_events()
        except JournalUnwritable:
            self._come_back()
            return
        except BaseException as error:
            self._end()
            if isinstance(error, RondelError):
                return  # the engine closes, or whoever drives the session has broken down
            raise
        if told:
            self._keep(told)
        if watcher.over:
            self.over = True
        elif watcher.is_behind:
            self._rung()
        else:
            self._is_up_to_date = True
            if told and not watcher.follows:
                self._rung()  # whether more is written, or nothing can be any more
        if told or self.over:
            self.wake()

    def _come_back(self) -> None:
        """The store cannot be read: go on when it can."""
        back = self._watcher.back()
        if back is None:
            self._end()
        else:
            self._coming_back = asyncio.ensure_future(back)
            self._coming_back.add_done_callback(self._came_back)

    def _came_back(self, coming: asyncio.Future[None]) -> None:
        if not coming.cancelled() and coming.exception() is not None:
            self._end()
        else:
            self._rung()

    def _end(self) -> None:
        self.over = True
        self.wake()

    def _keep(self, told: list[Event]) -> None:
        """Put events into the ring; what is too much for it is in the journal."""
        texts, ring = self._texts, self._ring
        for event in told:
            if event.seq is None:
                if event.event in (TOKENS, WAITS):
                    texts.add(event)
            elif texts:
                self._mind_texts(event)
        ring.append(batch_of(told))
        self._put += 1
        self._kept += len(told)
        while self._kept > RING and len(ring) > 1:
            gone = ring.popleft()
            self._kept -= len(gone.ends)
            self._first_seq = (gone.newest or self._first_seq - 1) + 1

    def _mind_texts(self, event: Event) -> None:
        """Drop the live text of a finished step or turn."""
        if event.event == "debate:round" or (
            event.event == "node_state_change" and event.data["status"] not in UNDER_WAY
        ):
            self._texts.forget(event.address)


async def history(
    engine: Engine, session: Session, after: int, upto: int | None = None
) -> AsyncIterator[Batch]:
    """Durable events out of the journal, from one number to another."""
    narrator = Narrator(session.id, session.plan)
    for ticks in engine.store.scan(session.id):
        for start in range(0, len(ticks), TURN):
            told = [
                event
                for tick in ticks[start : start + TURN]
                for event in narrator.fold(tick)
                if event.seq is not None and after < event.seq <= (upto or event.seq)
            ]
            if told:
                yield batch_of(told)
            await asyncio.sleep(0)
            if upto is not None and narrator.seq >= upto:
                return
