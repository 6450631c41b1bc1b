"""A session's events for all watchers: folded and encoded once, at each reader's own pace."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from itertools import chain, islice
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


class EncodedEvent(NamedTuple):
    """One event as a server-sent event; its number if it is durable."""

    seq: int | None
    sse: bytes

    @property
    def json(self) -> str:
        """The event's JSON, as a socket sends it."""
        return self.sse[self.sse.index(b"data: ") + 6 : -2].decode()


class Batch(NamedTuple):
    """Events that are sent together, and their bytes."""

    frames: Sequence[EncodedEvent]
    sse: bytes


_encode = msgspec.json.Encoder().encode


def frame_of(event: Event) -> EncodedEvent:
    """An event as a server-sent event."""
    seq = event.seq
    if seq is None:
        return EncodedEvent(None, b"data: %b\n\n" % _encode(event))
    return EncodedEvent(seq, b"id: %d\ndata: %b\n\n" % (seq, _encode(event)))


def batch_of(frames: Sequence[EncodedEvent]) -> Batch:
    """Frames joined into one batch."""
    return Batch(frames, b"".join([frame.sse for frame in frames]))


class Channel:
    """Folds one session while anybody watches it; each reader keeps only its place.

    It has no task: the session's bell calls it, and it wakes who reads.
    """

    def __init__(self, engine: Engine, session: Session, texts: LiveText) -> None:
        self.session = session
        self.readers = 0
        self.over = False
        self.seq = 0
        """The number of the newest durable event that was folded."""
        self._engine = engine
        self._texts = texts
        self._ring: deque[EncodedEvent] = deque(maxlen=RING)
        self._put = 0
        """The number of frames ever put into the ring."""
        self._first_seq = 1
        """The oldest durable event that the ring still has, or will have."""
        self._newest: tuple[int, int, Batch] = (0, 0, Batch((), b""))
        """The range of the last batch; readers at the same place get the same batch."""
        self._waiting: list[asyncio.Future[None]] = []
        self._is_up_to_date = False
        """Whether the past is folded; live texts are sent only after it."""
        self._loop = asyncio.get_running_loop()
        self._bell: asyncio.Future[None] | None = None
        self._watcher = session.watcher()  # hears what is said from here on
        self._loop.call_soon(self._go_on)

    def close(self) -> None:
        """Stop: nobody watches any more."""
        self.over = True
        if self._bell is not None:
            self._bell.cancel()

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
            if place < self._put - len(self._ring):
                has_texts = False
                while seq + 1 < self._first_seq:
                    last = self._first_seq - 1
                    async for told in history(self._engine, self.session, seq, last):
                        seq = told.frames[-1].seq or seq
                        yield told
                batch = batch_of([f for f in self._ring if f.seq is not None and f.seq > seq])
            else:
                batch = self._since(place, after)
            if not has_texts and self._is_up_to_date:
                has_texts = True
                texts = [frame_of(event) for event in self._texts.events()]
                batch = batch_of([*batch.frames, *texts]) if texts else batch
            place = self._put
            seq = max(seq, self.seq)
            yield batch
            if place == self._put:
                if self.over:
                    return
                await self._next()

    # Inside

    def _since(self, place: int, after: int) -> Batch:
        """The frames after a place that the ring still has."""
        start, stop, batch = self._newest
        if (start, stop) != (place, self._put):
            new = islice(self._ring, len(self._ring) - (self._put - place), None)
            batch = batch_of(list(new))
            self._newest = place, self._put, batch
        first = next((f.seq for f in batch.frames if f.seq is not None), None) if after else None
        if first is None or first > after:
            return batch
        return batch_of([f for f in batch.frames if f.seq is None or f.seq > after])

    async def _next(self) -> None:
        future = self._loop.create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            with suppress(ValueError):  # it was woken already
                self._waiting.remove(future)
            raise

    def _rung(self, bell: asyncio.Future[None]) -> None:
        """Called when there is news: wait two turns, then send all of it together."""
        if not bell.cancelled() and bell.exception() is not None:
            self._end()
            return
        self._loop.call_soon(self._loop.call_soon, self._go_on)

    def _go_on(self) -> None:
        """Fold new ticks; called again when there are more."""
        if self.over:
            return
        watcher = self._watcher
        before = watcher.position
        try:
            told = watcher.take()
        except JournalUnwritable:
            self._come_back()
            return
        except BaseException as error:
            self._end()
            if isinstance(error, RondelError):
                return  # the engine closes, or whoever drives the session has broken down
            raise
        self._take(told)
        if watcher.over:
            self._end()
        elif watcher.position - before >= TURN:
            self._loop.call_soon(self._go_on)
        else:
            self._is_up_to_date = True
            self._bell = watcher.news()
            self._bell.add_done_callback(self._rung)
        if told:
            self.wake()

    def _come_back(self) -> None:
        """The store cannot be read: go on when it can."""
        back = self._watcher.back()
        if back is None:
            self._end()
        else:
            self._bell = asyncio.ensure_future(back)
            self._bell.add_done_callback(self._rung)

    def _end(self) -> None:
        self.over = True
        self.wake()

    def _take(self, told: list[Event]) -> None:
        ring, texts = self._ring, self._texts
        for event in told:
            if event.seq is not None:
                self.seq = event.seq
                if texts:
                    self._mind_texts(event)
            elif event.event in (TOKENS, WAITS):
                texts.add(event)
        before, frames = self._put, [frame_of(event) for event in told]
        gone = len(ring) + len(frames) - RING
        if gone > 0:
            for frame in islice(chain(ring, frames), gone):
                self._first_seq = self._first_seq if frame.seq is None else frame.seq + 1
        ring.extend(frames)
        self._put += len(frames)
        if frames:
            self._newest = before, self._put, batch_of(frames)

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
            told = _told(narrator, ticks[start : start + TURN], after, upto)
            if told:
                yield batch_of(told)
            await asyncio.sleep(0)
            if upto is not None and narrator.seq >= upto:
                return


def _told(
    narrator: Narrator, ticks: Sequence[object], after: int, upto: int | None
) -> list[EncodedEvent]:
    frames = []
    for tick in ticks:
        for event in narrator.tell(tick):  # type: ignore[arg-type]
            seq = event.seq
            if seq is not None and seq > after and (upto is None or seq <= upto):
                frames.append(frame_of(event))
    return frames
