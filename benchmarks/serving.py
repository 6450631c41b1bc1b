"""A server as a process, a bare one beside it, and clients that read what they send."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

LOOP = """\
graph:
  id: load
  start: Writer
  end: Final
  breaker: off
  nodes:
    - {{id: Writer, type: agent, config: {{provider: scripted, answers: [{{content: a draft, delay: {delay}}}]}}}}
    - {{id: Critic, type: agent, config: {{provider: scripted, answers: [{{content: not yet, delay: {delay}}}]}}}}
    - {{id: Final, type: passthrough}}
  loops: {{Writer: {{max_rounds: {rounds}}}}}
  edges:
    - {{from: Writer, to: Critic}}
    - {{from: Critic, to: Writer}}
    - {{from: Critic, to: Final, label: limit}}
"""  # noqa: E501

WAITING = """\
graph:
  id: load
  nodes:
    - {id: Person, type: human, config: {description: "Go on?"}}
    - {id: End, type: passthrough}
  edges: [{from: Person, to: End}]
"""

BARE = """\
import asyncio, json, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

timelines = [
    [(at, part.encode()) for at, part in each] for each in json.load(open(sys.argv[1]))
]

async def stream(request):
    async def body():
        clock = asyncio.get_running_loop().time
        began = clock()
        for at, batch in timelines[int(request.path_params["n"])]:
            await asyncio.sleep(max(0.0, began + at - clock()))
            yield batch
    return StreamingResponse(body(), media_type="text/event-stream")

app = Starlette(routes=[Route("/events/{n}", stream)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_config=None, access_log=False)
"""

ENDS = ("completed", "bounded", "failed", "cancelled")


class Process:
    """A server as a process of its own, and what it takes of the machine."""

    def __init__(self, command: list[str], port: int) -> None:
        self.port = port
        self._command = command
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    async def ready(self) -> None:
        """Wait until it answers."""
        while True:
            with contextlib.suppress(OSError, ValueError, IndexError):
                if (await request(self.port, "GET", "/readyz"))[0] in (200, 404):
                    return
            assert self._process.poll() is None, "the server has ended"
            await asyncio.sleep(0.05)

    @property
    def cpu(self) -> float:
        """Seconds of CPU time that it used."""
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    async def quiet(self) -> None:
        """Wait until it has done next to nothing for two seconds."""
        still, before = 0, self.cpu
        while still < 8:
            await asyncio.sleep(0.25)
            still = still + 1 if self.cpu - before < 0.015 else 0
            before = self.cpu

    @property
    def rss(self) -> int:
        """Bytes of memory that it has."""
        return int(psutil.Process(self._process.pid).memory_info().rss)

    @property
    def peak(self) -> float:
        """The most memory that it ever had, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return round(int(line.split()[1]) / 1024, 1)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()


class Served(Process):
    """`rondel serve` with one graph, `load`."""

    def __init__(self, root: Path, graph: str) -> None:
        (root / "graphs").mkdir()
        (root / "graphs" / "load.yaml").write_text(graph)
        port = free_port()
        command = [sys.executable, "-m", "rondel", "serve", "--port", str(port)]
        command += ["--graphs", str(root / "graphs"), "--db", str(root / "sessions.db")]
        super().__init__(command, port)


class Bare(Process):
    """A Starlette app that sends each client what another was sent, at the same moments."""

    def __init__(self, root: Path, timelines: list[list[tuple[float, str]]]) -> None:
        script, data, port = root / "bare.py", root / "timelines.json", free_port()
        script.write_text(BARE)
        data.write_text(json.dumps(timelines))
        super().__init__([sys.executable, str(script), str(data), str(port)], port)

    async def read(self, number: int) -> None:
        """Read the stream of that client to its end."""
        async for _ in stream(self.port, f"/events/{number}"):
            pass


@dataclass
class Seen:
    """What one client has seen."""

    session: str
    seqs: list[int] = field(default_factory=list)
    timeline: list[tuple[float, str]] = field(default_factory=list)
    """What came, and how many seconds after the request."""
    connections: int = 0
    ended: bool = False


async def start(port: int, graph_id: str, task: str) -> str:
    """Start a session; when the server wants to be asked later, later."""
    body = json.dumps({"graph_id": graph_id, "inputs": task}).encode()
    while True:
        status, reply = await request(port, "POST", "/api/v1/sessions", body)
        if status != 429:
            break
        await asyncio.sleep(0.2)
    assert status == 202, reply
    return str(json.loads(reply)["id"])


async def watch(port: int, seen: Seen, *, only_first: bool = False) -> None:
    """Watch one session to its end, over as many connections as it takes."""
    while not seen.ended:
        seen.connections += 1
        last = seen.seqs[-1] if seen.seqs else 0
        began = time.perf_counter()
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            async for batch in stream(port, f"/api/v1/sessions/{seen.session}/events", last):
                seen.timeline.append((time.perf_counter() - began, batch))
                _take(seen, batch)
                if only_first and seen.seqs:
                    return
        if not seen.ended:
            await asyncio.sleep(0.1)


def _take(seen: Seen, batch: str) -> None:
    for line in batch.splitlines():
        if not line.startswith("data: "):
            continue
        event = json.loads(line[6:])
        if event["seq"] is not None:
            seen.seqs.append(event["seq"])
        if event["event"] == "session_state_change":
            seen.ended = event["data"]["status"] in ENDS


async def stream(port: int, path: str, last: int = 0) -> AsyncIterator[str]:
    """What a stream brings, as it comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: {last}\r\n\r\n"
        writer.write(head.encode())
        await reader.readuntil(b"\r\n\r\n")
        while size := int((await reader.readuntil(b"\r\n")).strip() or b"0", 16):
            yield (await reader.readexactly(size)).decode()
            await reader.readexactly(2)
    finally:
        writer.close()


async def until_over(port: int, count: int) -> dict[str, int]:
    """How many sessions have ended, by state, once all have."""
    deadline = time.monotonic() + 300
    while True:
        statuses = {status: await _count(port, status) for status in ENDS}
        if sum(statuses.values()) >= count or time.monotonic() > deadline:
            return {status: found for status, found in statuses.items() if found}
        await asyncio.sleep(0.5)


async def _count(port: int, status: str) -> int:
    count, more = 0, ""
    while True:
        path = f"/api/v1/sessions?status={status}&limit=500{more}"
        page = json.loads((await request(port, "GET", path))[1])
        count += len(page["sessions"])
        if page["next"] is None:
            return count
        more = f"&cursor={page['next']}"


async def request(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """One request over a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.read()
    finally:
        writer.close()
    first, _, rest = answer.partition(b"\r\n\r\n")
    return int(first.split(b" ", 2)[1]), rest


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
