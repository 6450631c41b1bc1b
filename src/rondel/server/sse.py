"""Server-sent events: one response a stream, one heartbeat for all of them.

A stream is the request's own task and one that waits for the client to go. The heartbeat keeps
quiet streams alive, lets go of clients that take nothing, and ends all of them when the server
goes away. (sse-starlette takes four tasks a stream and a timer a send; MCP's library uses it.)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

RETRY = b"retry: 1000\n\n"
"""How long a client waits before it comes back."""

PING = b": ping\n\n"

FAREWELL = 1.0
"""Seconds that a client has to take the hint when the server goes away."""

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Heartbeat:
    """Looks after all open streams."""

    def __init__(self, ping: float, send_timeout: float) -> None:
        self.ping = ping
        self.send_timeout = send_timeout
        self.streams: set[EventStream] = set()
        self.cut: Callable[[Scope], None] = lambda _: None
        """Breaks the connection of a request: the server's, which alone can."""
        self.writer: Callable[[Scope], Callable[[bytes], bool] | None] = lambda _: None
        """What writes to the connection of a request at once, and returns False if it cannot."""
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    def open(self) -> None:
        """Begin, in the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    def close(self) -> None:
        """End every stream at once, with a hint when to come back."""
        self._closing = True
        if self._task is not None:
            self._task.cancel()
        for stream in list(self.streams):
            stream.let_go(farewell=True)

    def add(self, stream: EventStream) -> None:
        """Look after one more."""
        self.streams.add(stream)
        if self._closing:
            stream.let_go(farewell=True)

    async def _run(self) -> None:
        pause = min(self.ping, self.send_timeout) / 5
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(pause)
            now = clock()
            for stream in list(self.streams):
                stream.look_after(now, self.ping, self.send_timeout)


class EventStream(Response):
    """Sends what its content yields, as it comes, until that ends or the client is gone."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncGenerator[bytes, None], heartbeat: Heartbeat) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)
        self._content = content
        self._heartbeat = heartbeat
        self._task: asyncio.Task[object] | None = None
        self._pinging: asyncio.Task[None] | None = None
        self._since = 0.0
        """When it began to send, or last sent."""
        self._is_sending = False
        self._let_go = self._farewell = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        loop = asyncio.get_running_loop()
        self._send, self._since = send, loop.time()
        self._task = asyncio.current_task()
        await send(
            {"type": "http.response.start", "status": 200, "headers": self.raw_headers},
        )
        if "rondel.head" in scope:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            await self._content.aclose()
            return
        listening = loop.create_task(self._listen(receive))
        self._heartbeat.add(self)
        try:
            await self._tell(scope, send, loop)
        except asyncio.CancelledError:
            if not self._let_go:
                raise
            asyncio.current_task().uncancel()  # type: ignore[union-attr]
        finally:
            self._heartbeat.streams.discard(self)
            for task in (listening, self._pinging):
                if task is not None:
                    task.cancel()
            await self._content.aclose()
        if self._let_go:
            await self._leave(scope, send)

    async def _leave(self, scope: Scope, send: Send) -> None:
        """Send the farewell if one is wanted, without waiting for slow clients."""
        if self._farewell:
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL):
                    await send({"type": "http.response.body", "body": RETRY, "more_body": False})
                    return
        self._heartbeat.cut(scope)
        await asyncio.sleep(0)  # the server notices that the client is gone

    async def _tell(self, scope: Scope, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        write = self._heartbeat.writer(scope)
        async for chunk in self._content:
            self._since = loop.time()
            if write is not None and not self._is_sending and write(chunk):
                continue
            self._is_sending = True
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            self._is_sending = False
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _listen(self, receive: Receive) -> None:
        with suppress(asyncio.CancelledError):
            while (await receive())["type"] != "http.disconnect":
                pass
            self.let_go()

    # The heartbeat's

    def let_go(self, *, farewell: bool = False) -> None:
        """End the stream at once."""
        if not self._let_go and self._task is not None:
            self._let_go, self._farewell = True, farewell
            self._task.cancel()

    def look_after(self, now: float, ping: float, send_timeout: float) -> None:
        """Drop a client that reads nothing; send a heartbeat on a quiet stream."""
        if self._is_sending:
            if now - self._since > send_timeout:
                self.let_go()
        elif now - self._since > ping:
            self._since, self._is_sending = now, True
            self._pinging = asyncio.get_running_loop().create_task(self._ping())

    async def _ping(self) -> None:
        await self._send({"type": "http.response.body", "body": PING, "more_body": True})
        self._is_sending = False
