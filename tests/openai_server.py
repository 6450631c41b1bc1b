"""A server that speaks OpenAI's chat completions over real HTTP, with faults on demand.

It plays a list of replies in order, the last one repeated; each is text or a `Reply`. It records
what it was sent, how many requests it had at once, and who hung up.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Reply:
    """One answer of the server, or how it misbehaves.

    `drop_after` cuts the connection after so many chunks; `clean` makes the cut look like a
    regular end. `thinking` is what it says before the answer, as DeepSeek's models do. `silent`
    never answers. `before` and `between` are seconds of delay. `usage` may be
    any JSON in the place of what a server reports, False for none and None for null. `pieces` are
    the chunks of the content as they are, halves of characters too. An `endless` stream repeats
    them until the client hangs up.
    """

    content: str = ""
    chunks: int = 3
    calls: Sequence[tuple[str, Any]] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    raw: bytes | None = None
    drop_after: int | None = None
    clean: bool = False
    silent: bool = False
    before: float = 0.0
    between: float = 0.0
    input_tokens: int = 11
    output_tokens: int = 7
    cached_tokens: int = 0
    usage: bool | dict[str, Any] | None = True
    finish_reason: str | None = ""
    refusal: str = ""
    pieces: Sequence[str] | None = None
    endless: bool = False
    thinking: str = ""
    reasoning_tokens: int = 0


@dataclass
class Seen:
    """One request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    at: float
    hung_up: threading.Event = field(default_factory=threading.Event)
    """Set when the client closes the connection before it has the whole answer."""


DONE = "[DONE]"
Script = str | Reply | Callable[[Seen], "str | Reply"]


class OpenAIServer:
    """Runs in a thread of its own: `with OpenAIServer("Hello") as server: server.url`."""

    def __init__(self, *replies: Script) -> None:
        self._replies = replies or ("Hello.",)
        self._played = 0
        self.seen: list[Seen] = []
        self.most_inside = 0
        self._inside: set[int] = set()
        self.connections = 0
        self.url = ""
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    def wait_for(self, requests: int) -> None:
        """Wait until it has read so many: who gives up on it may do so before."""
        end = time.monotonic() + 60
        while len(self.seen) < requests and time.monotonic() < end:
            time.sleep(0.005)

    @property
    def bodies(self) -> list[Any]:
        """What was asked, in order."""
        return [seen.body for seen in self.seen]

    def header(self, name: str) -> list[str | None]:
        """That header of every request, in order."""
        return [seen.headers.get(name.lower()) for seen in self.seen]

    # Serving

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            task = asyncio.create_task(self._talk(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=512)
        port = server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (seen := await _read(reader)) is not None:
                self.seen.append(seen)
                self._inside.add(id(seen))
                self.most_inside = max(self.most_inside, len(self._inside))
                try:
                    keep = await self._reply(self._next(seen), seen, reader, writer)
                finally:
                    self._leave(seen)
                if not keep:
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _leave(self, seen: Seen) -> None:
        """It counts no longer: who has its last bytes may send the next one at once."""
        self._inside.discard(id(seen))

    def _next(self, seen: Seen) -> Reply:
        script = self._replies[min(self._played, len(self._replies) - 1)]
        self._played += 1
        chosen = script(seen) if callable(script) else script
        return Reply(chosen) if isinstance(chosen, str) else chosen

    async def _reply(
        self, reply: Reply, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer; whether the connection stays open."""
        answering = asyncio.create_task(self._answer(reply, seen, writer))
        gone = asyncio.create_task(reader.read(1))
        done, _ = await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        if answering in done and not answering.exception():
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone
            return answering.result()
        seen.hung_up.set()
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
        return False

    async def _answer(self, reply: Reply, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        if reply.silent:
            await asyncio.Event().wait()
        await asyncio.sleep(reply.before)
        plain = reply.raw is None and reply.body is None and reply.status == 200
        if plain and seen.body.get("stream"):
            return await self._stream(reply, seen, writer)
        self._leave(seen)
        if reply.raw is not None:
            _send(writer, reply.status, reply.raw, reply.headers)
        elif not plain:
            _send(writer, reply.status, json.dumps(reply.body).encode(), reply.headers)
        elif reply.drop_after is not None:
            return False
        else:
            _send(writer, 200, json.dumps(_completion(reply, seen)).encode(), reply.headers)
        await writer.drain()
        return True

    async def _stream(self, reply: Reply, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        chunked = "" if reply.clean else "Transfer-Encoding: chunked\r\n"
        extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(f"{head}{chunked}{extra}\r\n".encode())
        for number, event in enumerate(_events(reply, seen)):
            if reply.endless and number >= len(_pieces(reply)):
                break
            if reply.drop_after is not None and number >= reply.drop_after:
                await writer.drain()
                return False
            if event == DONE:
                self._leave(seen)
            line = f"data: {event}\n\n".encode()
            writer.write(line if reply.clean else b"%x\r\n%s\r\n" % (len(line), line))
            await writer.drain()
            await asyncio.sleep(reply.between)
        while reply.endless:
            for event in _events(reply, seen)[: len(_pieces(reply))]:
                line = f"data: {event}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(line), line))
            await writer.drain()
            await asyncio.sleep(reply.between)
        if not reply.clean:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return not reply.clean


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    head = await reader.readline()
    if not head:
        return None
    method, path, _ = head.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, path, headers, json.loads(body) if body else None, time.monotonic())


def _send(writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str]) -> None:
    fields = {"Content-Type": "application/json", **headers, "Content-Length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode("latin-1") + body)


def _usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None or isinstance(reply.usage, dict):
        return reply.usage
    return {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
    }


def _calls(reply: Reply) -> list[dict[str, Any]]:
    """The tool calls; arguments that are text go out as they are, also if they are no JSON."""
    return [
        {
            "index": place,
            "id": f"call_{place}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for place, (name, given) in enumerate(reply.calls)
    ]


def _envelope(seen: Seen, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": seen.body["model"]}


def _completion(reply: Reply, seen: Seen) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(_pieces(reply)) or None}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    if reply.refusal:
        message["refusal"] = reply.refusal
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": _reason(reply)}
    answer = {**_envelope(seen, "chat.completion"), "choices": [choice]}
    return answer if reply.usage is False else {**answer, "usage": _usage(reply)}


def _pieces(reply: Reply) -> Sequence[str]:
    if reply.pieces is not None:
        return reply.pieces
    size = -(-len(reply.content) // reply.chunks) or 1
    return [reply.content[at : at + size] for at in range(0, len(reply.content), size)]


def _reason(reply: Reply) -> str | None:
    if reply.finish_reason == "":
        return "tool_calls" if reply.calls else "stop"
    return reply.finish_reason


def _events(reply: Reply, seen: Seen) -> list[str]:
    """The chunks of a streamed answer: its text, its calls, the end, the usage."""
    deltas: list[dict[str, Any]] = []
    if reply.thinking:
        deltas.append({"reasoning_content": reply.thinking})
    deltas += [{"content": piece} for piece in _pieces(reply)]
    deltas += [{"tool_calls": [call]} for call in _calls(reply)]
    deltas += [{"refusal": reply.refusal}] if reply.refusal else []
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": _reason(reply)})
    envelope = _envelope(seen, "chat.completion.chunk")
    events = [json.dumps({**envelope, "choices": [choice]}) for choice in choices]
    if reply.usage is not False:
        events.append(json.dumps({**envelope, "choices": [], "usage": _usage(reply)}))
    return [*events, DONE]
