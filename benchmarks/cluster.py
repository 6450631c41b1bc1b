"""What sessions in PostgreSQL and workers take: `python -m benchmarks.cluster [small]`.

It brings its own server, or takes the one that RONDEL_TEST_DATABASE_URL names. The server waits
for its disk at every commit, as it does where it matters. Figures of one run compare; those of
different machines do not.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from benchmarks.probe import Figures
from rondel.engine.message import Message
from rondel.engine.ticks import Finished
from rondel.journal.postgres.store import PostgresStore
from rondel.journal.store import SessionRow, finish
from tests import postgres
from tests.cluster.harness import ASKING, ROUNDS, Fleet, graph, server

LEASE = 10.0
STEPS_OF_ROUNDS = 9
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


async def workers(url: str, counts: list[int], sessions: int, concurrency: int) -> Figures:
    """Steps a second of workers whose nodes wait for 0.3 s, as for a model."""
    figures: Figures = {}
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            marks = Path(folder) / "marks"
            work = graph(ROUNDS, marks, SECONDS="0.3")
            async with server(url, marks) as submitting:
                started = [await submitting.start(work) for _ in range(sessions)]
                with Fleet(url, marks, LEASE, concurrency) as fleet:
                    fleet.start(count)
                    await asyncio.to_thread(_wait_for, marks)
                    began = time.perf_counter()
                    for session in started:
                        await session.result()
                    took = time.perf_counter() - began
        figures[f"steps_per_s_{count}"] = sessions * STEPS_OF_ROUNDS / took
        figures[f"sessions_per_s_{count}"] = sessions / took
    return figures


async def takeover(url: str) -> Figures:
    """Seconds from a worker's kill to the next step of its session, on another machine."""
    with tempfile.TemporaryDirectory() as folder:
        marks = Path(folder) / "marks"
        with Fleet(url, marks, LEASE) as fleet:
            first = fleet.start()
            async with server(url, marks) as submitting:
                await submitting.start(graph(ROUNDS, marks, SECONDS="3"))
                await asyncio.to_thread(_wait_for, marks)
                fleet.start()
                os.kill(first, signal.SIGKILL)
                began = time.perf_counter()
                await asyncio.to_thread(_wait_for, marks, 2)
                return {"lease_s": LEASE, "takeover_s": time.perf_counter() - began}


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


async def main(small: bool) -> None:
    """Everything, a line of JSON each."""
    part = 10 if small else 1
    with database() as url:
        measured = {
            "one session": steps_of_one(url, 2000 // part),
            "many sessions": steps_of_many(url, 500 // part, 20),
            "workers": workers(url, [1, 2, 4], 400 // part, 40 // part),
            "takeover": takeover(url),
            "waiting": waiting(url, 10_000 // part**2),
        }
        for name, figures in measured.items():
            found = {key: round(value, 2) for key, value in (await figures).items()}
            print(json.dumps({"measured": name, **found}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(small="small" in sys.argv))
