"""The server under load: many sessions at once, many who watch, and a kill in the middle.

    python -m benchmarks.server_load [--sessions 1000] [--clients 200] [--rounds 20] [--kill]

Every client must have seen every durable event of its session, in order and once. What delivery
costs is the CPU time of the server with clients, less that without, by delivered event; beside it
stands a bare Starlette app that sends the same bytes to as many clients, as they were sent.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GRAPH = """\
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

BARE = """\
import asyncio, json, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

batches = [part.encode() for part in json.load(open(sys.argv[1]))]
pause = float(sys.argv[3])

async def stream(request):
    async def body():
        for batch in batches:
            yield batch
            await asyncio.sleep(pause)
    return StreamingResponse(body(), media_type="text/event-stream")

app = Starlette(routes=[Route("/events", stream)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""


@dataclass
class Seen:
    """What one client has seen."""

    session: str
    seqs: list[int] = field(default_factory=list)
    batches: list[str] = field(default_factory=list)
    connections: int = 0
    ended: bool = False


def main() -> None:
    """Run it, and print what was measured as one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--kill", action="store_true", help="kill -9 the server on the way")
    args = parser.parse_args()
    print(json.dumps(asyncio.run(_measure(args)), indent=2))


async def _measure(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "graphs").mkdir()
        text = GRAPH.format(delay=args.delay, rounds=args.rounds)
        (root / "graphs" / "load.yaml").write_text(text)
        alone = await _loaded(root, "alone", args, clients=0, kill=False)
        watched = await _loaded(root, "watched", args, clients=args.clients, kill=False)
        found = {
            "sessions": args.sessions,
            "rounds": args.rounds,
            "clients": args.clients,
            **watched.pop("checked"),
            "start_to_first_event_p99_ms": watched["first_p99_ms"],
            "server_cpu_s": {"alone": alone["cpu"], "watched": watched["cpu"]},
        }
        events = watched["events"]
        if events:
            cost = max(0.0, watched["cpu"] - alone["cpu"]) / events
            bare = await _bare(root, watched["batches"], args)
            found["cpu_us_per_event"] = {
                "rondel": round(cost * 1e6, 2),
                "bare": round(bare * 1e6, 2),
            }
            found["ratio"] = round(cost / bare, 2) if bare else None
        if args.kill:
            killed = await _loaded(root, "killed", args, clients=args.clients, kill=True)
            found["killed"] = killed["checked"]
        return found


async def _loaded(
    root: Path, name: str, args: argparse.Namespace, *, clients: int, kill: bool
) -> dict[str, Any]:
    port = _free_port()
    server = _Server(root, name, port)
    try:
        await server.ready()
        before = server.cpu
        ids, firsts = await _start_all(port, args.sessions)
        every = max(1, len(ids) // clients) if clients else 0
        seen = [Seen(ids[(n * every) % len(ids)]) for n in range(clients)]
        watching = [asyncio.create_task(_watch(port, each)) for each in seen]
        if kill:
            await asyncio.sleep(2.0)
            server.kill()
            server = _Server(root, name, port)
            await server.ready()
        await asyncio.gather(*watching)
        statuses = await _until_over(port, len(ids))
        cpu = server.cpu - (0.0 if kill else before)
    finally:
        server.kill()
    gaps = [each for each in seen if each.seqs != list(range(1, len(each.seqs) + 1))]
    batches = max((each.batches for each in seen), key=len, default=[])
    return {
        "cpu": round(cpu, 3),
        "events": sum(len(each.seqs) for each in seen),
        "batches": batches,
        "first_p99_ms": round(_p99(firsts) * 1000, 1) if firsts else None,
        "checked": {
            "ended": statuses,
            "clients_with_a_gap_or_repeat": len(gaps),
            "clients_that_saw_the_end": sum(each.ended for each in seen),
            "events_delivered": sum(len(each.seqs) for each in seen),
        },
    }


class _Server:
    def __init__(self, root: Path, name: str, port: int) -> None:
        self.port = port
        command = [sys.executable, "-m", "rondel", "serve", "--port", str(port)]
        command += ["--graphs", str(root / "graphs"), "--db", str(root / f"{name}.db")]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    async def ready(self) -> None:
        while True:
            with contextlib.suppress(OSError, ValueError):
                status, _ = await _request(self.port, "GET", "/readyz")
                if status == 200:
                    return
            await asyncio.sleep(0.05)

    @property
    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


async def _start_all(port: int, count: int) -> tuple[list[str], list[float]]:
    """Start all sessions; of some, the time from the request to the first event."""
    gate = asyncio.Semaphore(50)
    firsts: list[float] = []

    async def start(number: int) -> str:
        async with gate:
            began = time.perf_counter()
            body = json.dumps({"graph_id": "load", "inputs": f"task {number}"}).encode()
            while True:
                status, reply = await _request(port, "POST", "/api/v1/sessions", body)
                if status != 429:
                    break
                await asyncio.sleep(0.2)
            assert status == 202, reply
            started = str(json.loads(reply)["id"])
            if number % 10 == 0:
                async for _ in _lines(port, started, 0):
                    firsts.append(time.perf_counter() - began)
                    break
            return started

    return list(await asyncio.gather(*[start(number) for number in range(count)])), firsts


async def _watch(port: int, seen: Seen) -> None:
    """Watch one session to its end, over as many connections as it takes."""
    while not seen.ended:
        seen.connections += 1
        last = seen.seqs[-1] if seen.seqs else 0
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            async for batch in _lines(port, seen.session, last):
                seen.batches.append(batch)
                for line in batch.splitlines():
                    if line.startswith("data: "):
                        event = json.loads(line[6:])
                        if event["seq"] is not None:
                            seen.seqs.append(event["seq"])
                        if event["event"] == "session_state_change":
                            seen.ended = event["data"]["status"] in (
                                "completed",
                                "bounded",
                                "failed",
                            )
        if not seen.ended:
            await asyncio.sleep(0.1)


async def _lines(port: int, id: str, last: int) -> AsyncIterator[str]:
    """What a stream brings, as it comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    try:
        head = f"GET /api/v1/sessions/{id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        writer.write(f"{head}Last-Event-ID: {last}\r\n\r\n".encode())
        async for chunk in _chunks(reader):
            if "data: " in chunk:
                yield chunk
    finally:
        writer.close()


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    await reader.readuntil(b"\r\n\r\n")
    while True:
        size = int((await reader.readuntil(b"\r\n")).strip() or b"0", 16)
        if size == 0:
            return
        yield (await reader.readexactly(size)).decode()
        await reader.readexactly(2)


async def _until_over(port: int, count: int) -> dict[str, int]:
    """How many sessions have ended, by state."""
    deadline = time.monotonic() + 300
    while True:
        statuses: dict[str, int] = {}
        for status in ("completed", "bounded", "failed", "cancelled"):
            cursor: str | None = None
            while True:
                more = f"&cursor={cursor}" if cursor else ""
                path = f"/api/v1/sessions?status={status}&limit=500{more}"
                _, reply = await _request(port, "GET", path)
                page = json.loads(reply)
                statuses[status] = statuses.get(status, 0) + len(page["sessions"])
                cursor = page["next"]
                if cursor is None:
                    break
        if sum(statuses.values()) >= count or time.monotonic() > deadline:
            return {status: found for status, found in statuses.items() if found}
        await asyncio.sleep(0.5)


async def _bare(root: Path, batches: list[str], args: argparse.Namespace) -> float:
    """CPU seconds per event of an app that does nothing but send the same bytes."""
    script, data, port = root / "bare.py", root / "batches.json", _free_port()
    script.write_text(BARE)
    data.write_text(json.dumps(batches))
    events = sum(batch.count("\nid: ") + batch.startswith("id: ") for batch in batches)
    command = [sys.executable, str(script), str(data), str(port), str(args.delay)]
    with _process(command) as process:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            await asyncio.sleep(0.05)
        before = _cpu(process.pid)

        async def read() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
            writer.write(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            async for _ in _chunks(reader):
                pass
            writer.close()

        await asyncio.gather(*[read() for _ in range(args.clients)])
        used: float = _cpu(process.pid) - before
        delivered: int = events * args.clients
        return used / delivered


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _request(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
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


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _p99(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


if __name__ == "__main__":
    main()
