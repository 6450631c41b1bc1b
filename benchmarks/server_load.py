"""The server under load: many sessions at once, many who watch, and a kill in the middle.

    python -m benchmarks.server_load [load] [kill] [cost] [memory] [--out FILE]

`load`    1,000 sessions of 20 rounds at once, 200 clients: nobody may miss an event, get one twice
          or out of order; meanwhile further sessions are started, one after the other, and the
          time from the request to the first event is taken.
`kill`    the same with `kill -9` and a restart on the way.
`cost`    CPU time of the server with clients, less that without, by delivered durable event;
          beside it a bare Starlette app that sends the same bytes at the same moments.
`memory`  what a session that waits for a person takes, and what a stream on which nothing happens.

Without a name all four. What was measured is printed as one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.serving import (
    LOOP,
    WAITING,
    Bare,
    Seen,
    Served,
    start,
    until_over,
    watch,
)

PARTS = ("load", "kill", "cost", "memory")


def main() -> None:
    """Run it, and print what was measured as one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--delay", type=float, default=1.0, help="seconds of a model call")
    parser.add_argument("--repeat", type=int, default=5, help="runs of `cost`")
    parser.add_argument("--out", type=Path, help="write it there too")
    args = parser.parse_args()
    found: dict[str, Any] = {"sessions": args.sessions, "clients": args.clients}
    found |= {"rounds": args.rounds, "delay_s": args.delay}
    for part in args.parts or PARTS:
        print(f"{part} ...", file=sys.stderr, flush=True)
        found[part] = asyncio.run(MEASURES[part](args))
    text = json.dumps(found, indent=2)
    print(text)
    if args.out is not None:
        args.out.write_text(text + "\n", "utf-8")


# Load


async def _load(args: argparse.Namespace) -> dict[str, Any]:
    return await _under_load(args, kill=False)


async def _kill(args: argparse.Namespace) -> dict[str, Any]:
    return await _under_load(args, kill=True)


async def _under_load(args: argparse.Namespace, *, kill: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        server = Served(Path(folder), LOOP.format(delay=args.delay, rounds=args.rounds))
        try:
            await server.ready()
            ids = await _start_all(server, args.sessions)
            seen = [Seen(each) for each in _chosen(ids, args.clients)]
            watching = [asyncio.create_task(watch(server.port, each)) for each in seen]
            firsts: list[float] = []
            if kill:
                await asyncio.sleep(args.delay * args.rounds * 0.7)
                server.kill()
                server.start()
                await server.ready()
            else:
                firsts = await _first_events(server, 100)
            await asyncio.gather(*watching)
            statuses = await until_over(server.port, len(ids) + len(firsts))
            most = server.peak
        finally:
            server.kill()
    found = {"ended": statuses, **_seen(seen), "server_rss_peak_mb": most}
    if firsts:
        found["start_to_first_event_ms"] = {
            "p50": round(statistics.median(firsts) * 1000, 1),
            "p99": round(sorted(firsts)[int(len(firsts) * 0.99) - 1] * 1000, 1),
        }
    return found


def _chosen(ids: list[str], clients: int) -> list[str]:
    every = max(1, len(ids) // clients)
    return [ids[(n * every) % len(ids)] for n in range(clients)]


def _seen(seen: list[Seen]) -> dict[str, int]:
    gaps = [each for each in seen if each.seqs != list(range(1, len(each.seqs) + 1))]
    return {
        "clients_that_saw_the_end": sum(each.ended for each in seen),
        "clients_with_a_gap_or_repeat": len(gaps),
        "clients_that_reconnected": sum(each.connections > 1 for each in seen),
        "events_delivered": sum(len(each.seqs) for each in seen),
    }


async def _start_all(server: Served, count: int) -> list[str]:
    gate = asyncio.Semaphore(50)

    async def one(number: int) -> str:
        async with gate:
            return await start(server.port, "load", f"task {number}")

    return list(await asyncio.gather(*[one(number) for number in range(count)]))


async def _first_events(server: Served, count: int) -> list[float]:
    """Seconds from the request for a session to its first event, one after the other."""
    took = []
    for number in range(count):
        began = time.perf_counter()
        seen = Seen(await start(server.port, "load", f"further task {number}"))
        await watch(server.port, seen, only_first=True)
        took.append(time.perf_counter() - began)
    return took


# Cost


async def _cost(args: argparse.Namespace) -> dict[str, Any]:
    found = {}
    for sessions in (args.clients, args.clients // 10):
        found[f"{sessions}_sessions"] = await _cost_of(args, sessions)
    return found


async def _cost_of(args: argparse.Namespace, sessions: int) -> dict[str, Any]:
    """The least of several runs of each: what disturbs a run only adds to it."""
    alone, watched, bare, events, batches = [], [], [], 0, 0
    for _ in range(args.repeat):
        alone.append((await _run(args, sessions, 0))[0])
        cpu, seen = await _run(args, sessions, args.clients)
        watched.append(cpu)
        events = sum(len(each.seqs) for each in seen)
        batches = sum(len(each.timeline) for each in seen)
        bare.append(await _bare(seen))
    rondel = (min(watched) - min(alone)) / events
    return {
        "clients": args.clients,
        "events": events,
        "events_a_send": round(events / batches, 2),
        "cpu_us_per_event": {
            "rondel": round(rondel * 1e6, 2),
            "bare": round(min(bare) / events * 1e6, 2),
        },
        "ratio": round(rondel / (min(bare) / events), 2),
        "server_cpu_s": {"alone": alone, "watched": watched, "bare": bare},
    }


async def _run(args: argparse.Namespace, sessions: int, clients: int) -> tuple[float, list[Seen]]:
    with tempfile.TemporaryDirectory() as folder:
        server = Served(Path(folder), LOOP.format(delay=0.05, rounds=args.rounds))
        try:
            await server.ready()
            ids = await _start_all(server, 10)  # what is loaded on first use
            await asyncio.gather(*[watch(server.port, Seen(each)) for each in ids])
            await until_over(server.port, len(ids))
            before = server.cpu
            ids = await _start_all(server, sessions)
            seen = [Seen(each) for each in _chosen(ids, clients)] if clients else []
            await asyncio.gather(*[watch(server.port, each) for each in seen])
            await server.quiet()  # also what is noted of a session after its end
            used = server.cpu - before
            statuses = await until_over(server.port, len(ids) + 10)
            assert sum(statuses.values()) == len(ids) + 10, statuses
        finally:
            server.kill()
    return round(used, 2), seen


async def _bare(seen: list[Seen]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        bare = Bare(Path(folder), [each.timeline for each in seen])
        try:
            await bare.ready()
            before = bare.cpu
            await asyncio.gather(*[bare.read(number) for number in range(len(seen))])
            return round(bare.cpu - before, 2)
        finally:
            bare.kill()


# Memory


async def _memory(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        server = Served(Path(folder), WAITING)
        try:
            await server.ready()
            await _start_all(server, 50)
            await asyncio.sleep(1.0)
            before = server.rss
            ids = await _start_all(server, args.sessions)
            await asyncio.sleep(5.0)
            waiting = server.rss
            seen = [Seen(each) for each in (ids * 2)[: args.clients * 2]]
            streams = [asyncio.create_task(watch(server.port, each)) for each in seen]
            await asyncio.sleep(5.0)
            assert all(each.seqs for each in seen)
            watched = server.rss
            for stream in streams:
                stream.cancel()
            await asyncio.gather(*streams, return_exceptions=True)
        finally:
            server.kill()
    return {
        "waiting_sessions": len(ids),
        "kb_per_waiting_session": round((waiting - before) / len(ids) / 1024, 1),
        "idle_streams": len(seen),
        "kb_per_idle_stream": round((watched - waiting) / len(seen) / 1024, 1),
    }


MEASURES = {"load": _load, "kill": _kill, "cost": _cost, "memory": _memory}

if __name__ == "__main__":
    main()
