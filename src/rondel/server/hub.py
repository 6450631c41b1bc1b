"""Keeps a channel for every session that is watched."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rondel.server.channel import Channel
from rondel.server.feed import Feed
from rondel.server.live_text import LiveText, LiveTextRecorder
from rondel.server.options import Options
from rondel.server.replies import Refusal
from rondel.server.sse import Heartbeat
from rondel.sessions.engine import Engine
from rondel.sessions.session import Session

log = logging.getLogger("rondel.server")


class Hub:
    """Opens channels, closes them when nobody watches, and ends them all when it is time."""

    def __init__(self, engine: Engine, options: Options) -> None:
        self._engine = engine
        self._most = options.limits.streams
        self._channels: dict[str, Channel] = {}
        self._recorders: dict[str, LiveTextRecorder] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.feed = Feed(engine)
        self.heartbeat = Heartbeat(options.ping, options.send_timeout)
        self.readers = 0
        """Streams and sockets that are open."""
        self.closing = False

    def open(self) -> None:
        """Begin, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self.feed.open()
        self.heartbeat.open()

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[None]:
        """Count a reader inside this context; raises Refusal if there are too many."""
        self.demand_room()
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1

    def demand_room(self) -> None:
        """Raise Refusal if there are too many streams, or the server is going away."""
        if self.closing:
            raise Refusal(503, "closing", "the server is going away; try again in a moment")
        if self.readers >= self._most:
            raise Refusal(429, "too_many_streams", f"{self._most} streams are open; close one", 5.0)

    @asynccontextmanager
    async def channel(self, session: Session) -> AsyncIterator[Channel]:
        """The channel of a session, for as long as somebody reads it."""
        async with self.reader():
            channel = self._channels.get(session.id)
            if channel is None or channel.over:
                channel = self._channels[session.id] = Channel(
                    self._engine, session, self._texts(session)
                )
            channel.readers += 1
            try:
                yield channel
            finally:
                channel.readers -= 1
                if channel.readers == 0:
                    if self._channels.get(session.id) is channel:
                        del self._channels[session.id]
                    channel.close()

    def close(self) -> None:
        """End every stream at once."""
        self.closing = True
        self.heartbeat.close()
        for channel in self._channels.values():
            channel.wake()
        self.feed.close()

    # What the store tells

    def driven(self, id: str) -> None:
        """This process begins to drive a session: record its live texts."""
        if self._loop is not None and id not in self._recorders:
            self._loop.call_soon(self._attend, id)

    def released(self, id: str) -> None:
        """This process no longer drives the session."""
        self._recorders.pop(id, None)

    def changed(self, id: str, status: str | None) -> None:
        """A session has news."""
        if status is not None and log.isEnabledFor(logging.INFO):
            self._log(id, status)

    def stored(self, id: str, status: str | None) -> None:
        """What changed can be read."""
        self.feed.changed(id, status)

    def _log(self, id: str, status: str) -> None:
        session = self._engine.driven(id)
        drive = None if session is None else session.drive
        steps = [] if drive is None else [step.address for step in drive.state.steps.values()]
        extra = {"session": id, "status": status, "address": ", ".join(steps)}
        log.info("session %s is %s", id, status, extra=extra)

    def _attend(self, id: str) -> None:
        session = self._engine.get(id)
        if session.drive is not None and id not in self._recorders:
            recorder = self._recorders[id] = LiveTextRecorder(session)
            session.listen(recorder)

    def _texts(self, session: Session) -> LiveText:
        recorder = self._recorders.get(session.id)
        return LiveText() if recorder is None else recorder.copy()
