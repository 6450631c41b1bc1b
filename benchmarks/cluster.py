"""What sessions in PostgreSQL and workers take: `python -m benchmarks.cluster [small] [NAME ...]`.

It brings its own server, or takes the one that RONDEL_TEST_DATABASE_URL names. The server waits
for its disk at every commit, as it does where it matters. Figures of one run compare; those of
different machines do not.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from benchmarks import cluster_report, environment
from benchmarks.cluster_report import Measured
from benchmarks.contender import Contender
from benchmarks.probe import Figures
from benchmarks.process import ROOT
from benchmarks.results import machine_in_words
from rondel.engine.message import Message
from rondel.engine.ticks import Finished
from rondel.journal.postgres.store import PostgresStore
from rondel.journal.store import SessionRow, finish
from rondel.sessions.local_sessions import LEASE
from tests import postgres
from tests.cluster.harness import ASKING, ROUNDS, Fleet, graph, server

STEPS_OF_ROUNDS = 9
MARKS_OF_ROUNDS = 7
"""Of these, the ones that leave a mark."""

FILLS = 5
"""How often each place of a worker is filled."""

MODELS = ROUNDS.replace("SECONDS", "0.1", 1).replace("SECONDS", "0.5", 1).replace("SECONDS", "0.3")
"""Its nodes wait for 0.1, 0.5 and 0.3 s."""

PEERS = (
    Contender("rondel", "Rondel"),
    Contender(
        "langgraph",
        "LangGraph, AsyncPostgresSaver",
        "langgraph_postgres",
        ("langgraph", "langgraph-checkpoint-postgres", "psycopg[binary,pool]"),
    ),
    Contender("dbos", "DBOS", "dbos", ("dbos", "psycopg[binary]")),
)
_LEFT = """
SELECT max(greatest(h.until, d.until)) - rondel.now()
FROM rondel.head h JOIN rondel.driver d ON d.owner = h.owner
"""
_BARE = "INSERT INTO bare (session, n, record) VALUES (1, %s, %s)"


@contextmanager
def database() -> Iterator[str]:
    """A new database on a server that waits for its disk."""
    given = os.environ.get(postgres.VARIABLE)
    own = None if given else postgres.PostgresServer({"fsync": "on", "full_page_writes": "on"})
    url = given or (own.url() if own is not None else "")
    address = postgres.new_database(url)
    try:
        yield address
    finally:
        postgres.drop_database(url, address)
        if own is not None:
            own.close()


def tick(n: int) -> Finished:
    """A step of usual size."""
    return Finished(1_700_000_000.0 + n, n, (Message("word " * 40, source="writer"),), (0,))


async def steps_of_one(url: str, count: int) -> Figures:
    """What a lone session's step takes beside a bare INSERT and commit, taking turns."""
    store = PostgresStore(url)
    bare, ours = [], []
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE TABLE bare (session int, n int, record bytea, PRIMARY KEY (session, n))")
        await finish(store.create(SessionRow("one", "g", {}), "me", 600.0))
        for n in range(count):
            began = time.perf_counter()
            db.execute(_BARE, (n, b"word " * 45))
            middle = time.perf_counter()
            await finish(store.append("one", tick(n)))
            bare.append(middle - began)
            ours.append(time.perf_counter() - middle)
    store.close()
    least, most = statistics.median(bare), statistics.median(ours)
    return {"bare_ms": 1e3 * least, "step_ms": 1e3 * most, "times": most / least}


async def steps_of_many(url: str, sessions: int, steps: int) -> Figures:
    """Steps a second of many sessions in one process that never wait for anything else."""
    store = PostgresStore(url)

    async def run(name: str) -> None:
        await finish(store.create(SessionRow(name, "g", {}), "me", 600.0))
        for n in range(steps):
            await finish(store.append(name, tick(n)))

    began = time.perf_counter()
    await asyncio.gather(*[run(f"many {n}") for n in range(sessions)])
    took = time.perf_counter() - began
    store.close()
    return {"sessions": sessions, "steps_per_s": sessions * steps / took}


async def workers(url: str, counts: list[int], concurrency: int) -> Figures:
    """Steps a second of workers that are all busy, with nodes that wait as models do.

    Each has sessions for several times all its places. It is counted from when every worker has
    begun until most of the sessions have: what comes before and after is not how fast they are.
    """
    figures: Figures = {}
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            marks = Path(folder) / "marks"
            work = graph(MODELS, marks)
            sessions = count * concurrency * FILLS
            async with server(url, marks) as submitting:
                started = [await submitting.start(work) for _ in range(sessions)]
                with Fleet(url, marks, LEASE, concurrency) as fleet:
                    fleet.start(count)
                    last = int(sessions * MARKS_OF_ROUNDS * 0.75)
                    rate = await asyncio.to_thread(_rate, marks, count, last)
                    for session in started:
                        await session.result()
        figures[f"steps_per_s_{count}"] = rate * STEPS_OF_ROUNDS / MARKS_OF_ROUNDS
        figures[f"sessions_per_s_{count}"] = rate / MARKS_OF_ROUNDS
    first, *_, most = (figures[f"steps_per_s_{count}"] for count in counts)
    return {**figures, "times": most / first}


def _rate(marks: Path, workers: int, last: int) -> float:
    """Marks a second from when so many workers have begun until there are so many marks."""
    _wait_for(marks)
    while len(_workers_in(lines := marks.read_text().splitlines())) < workers:
        time.sleep(0.05)
    first, began = len(lines), time.perf_counter()
    _wait_for(marks, last)
    reached = len(marks.read_text().splitlines())
    return (reached - first) / (time.perf_counter() - began)


def _workers_in(lines: list[str]) -> set[str]:
    return {line.rpartition("-")[2] for line in lines}


async def side_by_side(peer: Contender, steps: int, sessions: int) -> Figures | str:
    """What a durable step takes, for us and for others, each in a database of its own."""
    try:
        await asyncio.to_thread(environment.make, peer)
    except (environment.InstallFailed, OSError) as error:
        return f"not installed: {error}"
    with database() as url:
        command = [str(environment.python_of(peer)), "-m", f"benchmarks.postgres.{peer.name}"]
        process = await asyncio.create_subprocess_exec(
            *command, url, str(steps), str(sessions), stdout=PIPE, stderr=PIPE, cwd=ROOT
        )
        told, complaint = await process.communicate()
    if process.returncode:
        return f"failed: {(complaint.decode().strip().splitlines() or ['no reason given'])[-1]}"
    figures: Figures = json.loads(told.decode().strip().splitlines()[-1])
    return figures


async def takeover(url: str, sessions: int, kills: int) -> Figures:
    """Seconds from a worker's kill until all its sessions go on, on another machine.

    A kill comes at any time of the lease. The longest are told.
    """
    left, took, after = [], [], []
    for _ in range(kills):
        lease, seconds = await _taken_over(url, sessions)
        left.append(lease)
        took.append(seconds)
        after.append(seconds - lease)
    longest = {"left_of_it_s": max(left), "then_s": max(after), "takeover_s": max(took)}
    return {"sessions": sessions, "kills": kills, "lease_s": LEASE, **longest}


async def _taken_over(url: str, sessions: int) -> tuple[float, float]:
    """What was left of the lease when a worker was killed, and when its last session went on."""
    with tempfile.TemporaryDirectory() as folder:
        marks = Path(folder) / "marks"
        with Fleet(url, marks, LEASE, sessions) as fleet:
            first = fleet.start()
            async with server(url, marks) as submitting:
                work = graph(ROUNDS, marks, SECONDS="60")
                started = [await submitting.start(work) for _ in range(sessions)]
                await asyncio.to_thread(_wait_for, marks, sessions)
                fleet.start()
                await asyncio.sleep(random.uniform(LEASE, 2 * LEASE))
                left = _left_of_lease(url)
                fleet.kill(first)
                began = time.perf_counter()
                await asyncio.to_thread(_wait_for, marks, 2 * sessions)
                took = time.perf_counter() - began
                for session in started:
                    await session.stop()
    return left, took


def _left_of_lease(url: str) -> float:
    with psycopg.connect(url) as db:
        found = db.execute(_LEFT).fetchone()
    return float(found[0]) if found else 0.0


async def waiting(url: str, sessions: int) -> Figures:
    """What sessions cost that wait for a person: rows, and no more than that."""
    with tempfile.TemporaryDirectory() as folder:
        marks = Path(folder) / "marks"
        asking = graph(ASKING, marks, CONFIG="actions: [yes]")
        async with server(url, marks) as submitting:
            began = time.perf_counter()
            for _ in range(sessions):
                await submitting.start(asking)
            submitted = time.perf_counter() - began
            with Fleet(url, marks, LEASE, 100) as fleet:
                fleet.start(2)
                while len(submitting.sessions("waiting", limit=sessions).rows) < sessions:  # noqa: ASYNC110
                    await asyncio.sleep(0.5)
        with psycopg.connect(url) as db:
            found = db.execute("SELECT pg_database_size(current_database())").fetchone()
    size = float(found[0]) if found else 0.0
    return {"sessions": sessions, "submits_per_s": sessions / submitted, "mb": size / 1e6}


def _wait_for(marks: Path, lines: int = 1) -> None:
    while not marks.exists() or len(marks.read_text().splitlines()) < lines:
        time.sleep(0.005)


async def main(*asked: str) -> None:
    """What is asked for, or everything, a line of JSON each; a page is written of everything."""
    part = 10 if "small" in asked else 1
    many = 100 // part
    measured: Measured = {}
    wanted = set(asked) - {"small"}
    for peer in PEERS:
        if not wanted or peer.name in wanted:
            _tell(measured, peer.name, await side_by_side(peer, 2000 // part, many))
    with database() as url:
        measuring: dict[str, Callable[[], Awaitable[Figures]]] = {
            "one session": lambda: steps_of_one(url, 2000 // part),
            "many sessions": lambda: steps_of_many(url, 500 // part, 20),
            "workers": lambda: workers(url, [1, 2, 4], 4 if part > 1 else 10),
            "takeover": lambda: takeover(url, many, 10 // part),
            "waiting": lambda: waiting(url, 10_000 // part**2),
        }
        for name, measure in measuring.items():
            if not wanted or name in wanted:
                _tell(measured, name, await measure())
    if not asked:
        titles = {peer.name: peer.title for peer in PEERS}
        cluster_report.PAGE.write_text(
            cluster_report.page(measured, titles, many, machine_in_words())
        )


def _tell(measured: Measured, name: str, figures: Figures | str) -> None:
    measured[name] = figures
    if isinstance(figures, str):
        print(json.dumps({"measured": name, "not": figures}), flush=True)
        return
    found = {key: round(value, 3) for key, value in figures.items()}
    print(json.dumps({"measured": name, **found}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
