"""Workers die, freeze and are stopped: every session ends, and nothing finished runs again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import psycopg
import pytest

from rondel import Engine
from rondel.dispatch.procrastinate import ProcrastinateDispatcher
from rondel.dispatch.worker import FEW, Worker
from rondel.testing.journal_suite import done, in_loop, row
from tests import postgres
from tests.cluster.campaign import Campaign
from tests.cluster.fleet import registry
from tests.cluster.harness import (
    ASKING,
    PATIENCE,
    ROOT,
    ROUNDS,
    Fleet,
    all_ended,
    check_each_step_ran_once,
    graph,
    marked,
    server,
)


def until_jobs(url: str, status: str, count: int) -> None:
    """Wait until the queue has so many jobs in that state."""
    asked = "SELECT count(*) FROM procrastinate_jobs WHERE status::text = %s"
    deadline = time.monotonic() + PATIENCE
    with psycopg.connect(url, autocommit=True) as db:
        while db.execute(asked, (status,)).fetchone() != (count,):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def marks_of(marks: Path) -> list[str]:
    """The step of each run that began."""
    return [line.rsplit(" ", 1)[0] for line in marks.read_text().splitlines()]


@pytest.mark.timeout(180)
async def test_workers_killed_at_random_under_load(tmp_path: Path) -> None:
    """A small one; `python -m tests.cluster.campaign --kills 300` is the large one."""
    campaign = Campaign(kills=8, under_way=15)
    await campaign.run(tmp_path)
    assert campaign.faults["kill"] == 8
    assert campaign.watched
    assert campaign.repeats  # some were hit at work


@in_loop
async def test_a_worker_frozen_past_its_lease_writes_nothing_when_it_wakes(
    new_database: str, marks: Path
) -> None:
    with Fleet(new_database, marks, lease=1.0) as fleet:
        async with server(new_database, marks) as submitting:
            frozen = fleet.start()
            work = graph(ROUNDS, marks, SECONDS="0.3")
            sessions = [await submitting.start(work) for _ in range(5)]
            await marked(marks, 8)
            os.kill(frozen, signal.SIGSTOP)
            other = fleet.start()
            await all_ended(sessions)
            lengths = [session.row.length for session in sessions]
            os.kill(frozen, signal.SIGCONT)
            fleet.kill(other)
            later = [await submitting.start(work) for _ in range(3)]
            await all_ended(later)  # whoever was frozen is of use again
            assert [session.row.length for session in sessions] == lengths
            check_each_step_ran_once([*sessions, *later], marks)


@in_loop
async def test_postgresql_is_stopped_and_started_under_load(marks: Path) -> None:
    own = await asyncio.to_thread(postgres.PostgresServer)
    try:
        url = postgres.new_database(own.url())
        with Fleet(url, marks, lease=2.0) as fleet:
            async with server(url, marks) as submitting:
                fleet.start(2)
                work = graph(ROUNDS, marks, SECONDS="0.2")
                sessions = [await submitting.start(work) for _ in range(10)]
                for how in (signal.SIGINT, signal.SIGQUIT):
                    await marked(marks, 10)
                    await asyncio.to_thread(own.stop, how)
                    await asyncio.sleep(0.3)
                    await asyncio.to_thread(own.start)
                await all_ended(sessions)
                check_each_step_ran_once(sessions, marks)
    finally:
        own.close()


@in_loop
async def test_a_worker_told_to_stop_hands_its_sessions_over(
    new_database: str, marks: Path
) -> None:
    with Fleet(new_database, marks, lease=30.0) as fleet:
        async with server(new_database, marks) as submitting:
            first = fleet.start()
            work = graph(ROUNDS, marks, SECONDS="0.4")
            sessions = [await submitting.start(work) for _ in range(3)]
            await marked(marks, 3)
            fleet.start()
            os.kill(first, signal.SIGTERM)
            await all_ended(sessions)  # long before its lease would have ended
            check_each_step_ran_once(sessions, marks)


@in_loop
async def test_who_looks_for_abandoned_sessions_makes_no_job_for_those_that_the_queue_brings(
    queue_database: str, marks: Path
) -> None:
    count = "SELECT last_value FROM procrastinate_jobs_id_seq"
    async with server(queue_database, marks) as submitting:
        with psycopg.connect(queue_database, autocommit=True) as db:
            work = graph(ROUNDS, marks, SECONDS="60")
            dead, lost = [await submitting.start(work) for _ in range(2)]
            (made,) = db.execute(count).fetchone() or (0,)
            db.execute("UPDATE procrastinate_jobs SET status = 'doing'")
            for session in (dead, lost):
                assert submitting.store.acquire(session.id, "dead", 0.01).granted
            await asyncio.sleep(0.05)
            bringing = ProcrastinateDispatcher(queue_database)
            await bringing.open()
            async with Engine(queue_database, registry=registry(str(marks))) as engine:
                worker = Worker(engine, bringing)
                await worker._submit_abandoned()
                assert db.execute(count).fetchone() == (made,)
                back = "UPDATE procrastinate_jobs SET status = 'todo' WHERE queueing_lock = %s"
                db.execute(back, (dead.id,))
                await worker._submit_abandoned()
                assert db.execute(count).fetchone() == (made + 1,)
                assert await bringing.missing([dead.id, lost.id, "none"]) == ["none"]
            await bringing.close()


@in_loop
async def test_a_process_that_is_no_worker_is_taken_over_too(
    new_database: str, marks: Path
) -> None:
    text = ROUNDS.replace("SECONDS", "0.5")
    program = f"""
import asyncio, sys
from rondel import Engine, Graph
from rondel.sessions import local_sessions
from tests.cluster.campaign import Campaign
from tests.cluster.fleet import registry
local_sessions.LEASE = 1.0
async def main():
    known = registry({str(marks)!r})
    async with Engine({new_database!r}, registry=known) as driving:
        await driving.run(Graph.loads({text!r}, registry=known))
asyncio.run(main())
"""
    alone = await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=ROOT)
    await marked(marks, 2)
    alone.kill()
    await alone.wait()
    with Fleet(new_database, marks, lease=1.0) as fleet:
        fleet.start()
        async with Engine(new_database, registry=registry(str(marks))) as watching:
            (row,) = watching.sessions().rows
            session = watching.get(row.id)
            await all_ended([session])
            check_each_step_ran_once([session], marks)


@pytest.mark.parametrize("workers", [1, 2])
@in_loop
async def test_a_session_submitted_again_takes_no_second_place(
    new_database: str, marks: Path, workers: int
) -> None:
    with Fleet(new_database, marks, lease=5.0, concurrency=2) as fleet:
        fleet.start(workers)
        async with server(new_database, marks) as submitting:
            long = await submitting.start(graph(ROUNDS, marks, SECONDS="60"))
            await marked(marks)
            for _ in range(3):
                await submitting.submit(long.row)
                await asyncio.to_thread(until_jobs, new_database, "todo", 0)
            short = await submitting.start(graph(ROUNDS, marks, SECONDS="0.01"))
            async with asyncio.timeout(10):
                await short.result()
            await asyncio.to_thread(until_jobs, new_database, "doing", 1)
            assert long.status == "running"


@in_loop
async def test_sessions_that_no_worker_can_run_are_in_nobodys_way(
    new_database: str, marks: Path
) -> None:
    async with server(new_database, marks) as submitting:
        for n in range(FEW):
            program = row(f"program {n}", status="running", labels={"python": True})
            await done(submitting.store.create(program))
        session = await submitting.start(graph(ROUNDS, marks, SECONDS="0.01"))
        with psycopg.connect(new_database) as db:  # whoever drove it is gone
            db.execute("DELETE FROM procrastinate_jobs")
            db.execute("UPDATE rondel.head SET owner = 'gone', until = 0 WHERE length = 0")
        with Fleet(new_database, marks, lease=1.0) as fleet:
            fleet.start()
            await all_ended([session])


@in_loop
async def test_a_deadline_passes_though_the_worker_that_asked_is_dead(
    new_database: str, marks: Path
) -> None:
    with Fleet(new_database, marks, lease=1.0) as fleet:
        async with server(new_database, marks) as submitting:
            asker = fleet.start()
            config = "timeout: 2s, on_timeout: fine"
            session = await submitting.start(graph(ASKING, marks, CONFIG=config))
            async with asyncio.timeout(PATIENCE):
                assert (await session.settled()).status == "waiting"
            fleet.kill(asker)
            fleet.start()
            await all_ended([session])
