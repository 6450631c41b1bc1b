"""Many sessions in one process and one database: kept apart when they run, free when they wait."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg

from rondel import Engine, Graph
from rondel.engine import ticks

ROOT = Path(__file__).parents[2]

WAITING = """
import asyncio, gc, resource, sys
from rondel import Engine, Graph

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

async def main(path, count):
    graph = Graph("ask")
    graph.add("Editor", "human", {"description": "good?"})
    async with Engine(path) as engine:
        await (await engine.start(graph, "warm up")).settled()
        before = resident()
        ids = []
        for _ in range(count // 100):
            sessions = [await engine.start(graph, "task") for _ in range(100)]
            ids += [(await session.settled()).session_id for session in sessions]
        del sessions
        print((resident() - before) // count, len(asyncio.all_tasks()), ids[count // 2])

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def looping(rounds: int, window: int = -1) -> Graph:
    graph = Graph("loop")

    @graph.node(context_window=window)
    async def work(inp: Any) -> str:
        await asyncio.sleep(0)
        return "x" * 50

    @graph.node
    def done(inp: Any) -> str:
        return inp.text

    graph.edge("work", "work", when=f"round < {rounds}")
    graph.edge("work", "done", when=f"round >= {rounds}")
    graph.loop("work", max_rounds=rounds + 1)
    graph.limits(max_steps=10**6)
    return graph


def size(db: str) -> int:
    """The bytes of a database file with its log, or of what sessions keep in PostgreSQL."""
    if "://" not in db:
        return sum(path.stat().st_size for path in Path(db).parent.glob("shared.db*"))
    with psycopg.connect(db) as server:
        found = server.execute(
            "SELECT (SELECT coalesce(sum(length(record)), 0) FROM rondel.tick) + "
            "(SELECT coalesce(sum(length(state)), 0) FROM rondel.snapshot)"
        ).fetchone()
    return 0 if found is None else int(found[0])


async def test_a_thousand_sessions_at_once_keep_their_journals_apart(db: str) -> None:
    graph = looping(5)

    async with Engine(db) as engine:
        sessions = [await engine.start(graph, f"task {number}") for number in range(1000)]
        results = await asyncio.gather(*(session.result() for session in sessions))
        assert {result.status for result in results} == {"completed"}
        for number, session in enumerate(sessions):
            journal = session.journal()
            assert isinstance(journal[0], ticks.Started)
            assert journal[0].inputs == {"task": f"task {number}"}
            assert [tick.step for tick in journal[1:]] == [1, 2, 3, 4, 5, 6]


def test_a_waiting_session_costs_no_task_and_hardly_any_memory(db: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WAITING, db, "1000"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    each, tasks, someone = done.stdout.split()
    assert int(each) < 5000
    assert int(tasks) <= 2

    async def answer() -> None:
        graph = Graph("ask")
        graph.add("Editor", "human", {"description": "good?"})
        async with Engine(db) as engine:
            session = engine.get(someone)
            await session.answer("yes")
            assert (await session.result()).output == "yes"

    asyncio.run(answer())


def test_the_journal_grows_by_the_same_amount_every_round(db: str) -> None:
    """A loop that appends to a history writes what is new, never the history."""

    async def size_after(rounds: int) -> int:
        async with Engine(db) as engine:
            before = size(db)
            result = await engine.run(looping(rounds), "task")
            assert result.status == "completed"
        return size(db) - before

    small, middle, large = (asyncio.run(size_after(rounds)) for rounds in (200, 1000, 5000))
    first = (middle - small) / 800
    later = (large - middle) / 4000
    assert later < 1.3 * first


async def test_a_long_session_opens_from_its_snapshot(db: str) -> None:
    """Opening folds only what came after the newest snapshot."""

    async with Engine(db) as engine:
        session = await engine.start(looping(6_000, window=0), "task")
        await session.settled()
        folded = engine.store.latest_snapshot(session.id)
        assert folded is not None
        assert session.row.length - folded[0] <= 2000
        assert len(folded[1]) < 5000
