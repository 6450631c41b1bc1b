"""A session's events for all who watch it: folded once, encoded once, kept by nobody's pace."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import msgspec

from rondel.errors import RondelError
from rondel.server.scribe import TOKENS, Texts
from rondel.sessions.engine import Engine
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator
from rondel.sessions.session import Session

RING = 4096
"""Frames that are kept for those who are a little behind; others read the journal."""

TURN = 256
"""Ticks after which a reader of the journal lets others have their turn."""

UNDER_WAY = ("running", "suspended")


class Frame(NamedTuple):
    """One event, encoded: as a server-sent event, and as JSON."""

    seq: int | None
    sse: bytes
    json: bytes


_encode = msgspec.json.Encoder().encode


def frame_of(event: Event) -> Frame:
    """An event on the wire."""
    body = _encode(event)
    seq = event.seq
    if seq is None:
        return Frame(None, b"data: %b\n\n" % body, body)
    return Frame(seq, b"id: %d\ndata: %b\n\n" % (seq, body), body)


class Channel:
    """Folds one session while anybody watches it; each reader keeps only its place."""

    def __init__(self, engine: Engine, session: Session, texts: Texts) -> None:
        self.session = session
        self.readers = 0
        self.over = False
        self.seq = 0
        """The number of the newest durable event that was folded."""
        self._engine = engine
        self._texts = texts
        self._ring: deque[Frame] = deque(maxlen=RING)
        self._put = 0
        """How many frames were ever put into the ring."""
        self._first_seq = 1
        """The oldest durable event that the ring still has, or will have."""
        self._waiting: list[asyncio.Future[None]] = []
        self._ringing = False
        events = session.events()  # hears what is said from here on
        self._task = asyncio.get_running_loop().create_task(self._run(events))

    async def close(self) -> None:
        """Nobody watches any more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def wake(self) -> None:
        """Let every reader look around."""
        self._ringing = False
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def read(self, after: int) -> AsyncIterator[list[Frame]]:
        """All frames after a durable event, in batches; an empty batch after each `wake`."""
        seq, place = after, -1
        while True:
            if place < self._put - len(self._ring):
                while seq + 1 < self._first_seq:
                    async for told in self._history(seq, self._first_seq - 1):
                        seq = told[-1].seq or seq
                        yield told
                batch = [f for f in self._ring if f.seq is not None and f.seq > seq]
                batch += [frame_of(event) for event in self._texts.events()]
            else:
                start = len(self._ring) - (self._put - place)
                new = islice(self._ring, start, None)
                batch = [f for f in new if f.seq is None or f.seq > seq]
            place = self._put
            seq = max(seq, self.seq)
            yield batch
            if place == self._put:
                if self.over:
                    return
                await self._next()

    # Inside

    async def _next(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    async def _run(self, events: AsyncIterator[Event]) -> None:
        try:
            async for event in events:
                self._take(event)
        except RondelError:
            pass  # the engine closes, or whoever drives the session has broken down
        finally:
            self.over = True
            self.wake()

    def _take(self, event: Event) -> None:
        if event.seq is not None:
            self.seq = event.seq
            self._mind_texts(event)
        elif event.event == TOKENS:
            self._texts.add(event)
        if len(self._ring) == RING:
            gone = self._ring[0].seq
            if gone is not None:
                self._first_seq = gone + 1
        self._ring.append(frame_of(event))
        self._put += 1
        if not self._ringing and self._waiting:
            self._ringing = True
            asyncio.get_running_loop().call_soon(self.wake)

    def _mind_texts(self, event: Event) -> None:
        """What was streamed is told by its step's end, and need not be told again."""
        if event.event == "debate:round" or (
            event.event == "node_state_change" and event.data["status"] not in UNDER_WAY
        ):
            self._texts.forget(event.address)

    async def _history(self, after: int, upto: int) -> AsyncIterator[list[Frame]]:
        """Durable events out of the journal, from one number to another."""
        async for told in history(self._engine, self.session, after, upto):
            yield told


async def history(
    engine: Engine, session: Session, after: int, upto: int | None = None
) -> AsyncIterator[list[Frame]]:
    """Durable events out of the journal, in batches, from one number to another."""
    narrator = Narrator(session.id, session.plan)
    for ticks in engine.store.scan(session.id):
        for start in range(0, len(ticks), TURN):
            told = _told(narrator, ticks[start : start + TURN], after, upto)
            if told:
                yield told
            await asyncio.sleep(0)
            if upto is not None and narrator.seq >= upto:
                return


def _told(narrator: Narrator, ticks: Sequence[object], after: int, upto: int | None) -> list[Frame]:
    frames = []
    for tick in ticks:
        for event in narrator.tell(tick):  # type: ignore[arg-type]
            seq = event.seq
            if seq is not None and seq > after and (upto is None or seq <= upto):
                frames.append(frame_of(event))
    return frames
