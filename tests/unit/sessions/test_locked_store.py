"""While another process keeps the database locked, sessions wait and the event loop runs on."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from rondel import Context, Engine, Graph
from rondel.journal.sqlite.store import SqliteStore
from tests.unit.sessions.test_deadlines import asking

PATIENCE = 0.05


def looping(reached: asyncio.Event) -> Graph:
    graph = Graph("looping")

    async def work(inp: Context) -> str:
        await asyncio.sleep(0)
        if inp.round == 3:
            reached.set()
        return str(inp.round)

    graph.node(id="work")(work)
    graph.node(id="out")(lambda inp: inp.text)
    graph.edge("work", "work")
    graph.edge("work", "out", when=False)
    graph.loop("work", max_rounds=20)
    return graph


async def test_sessions_go_on_when_the_lock_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with Engine(SqliteStore(path, patience=PATIENCE)) as engine:
        asked = await engine.start(asking("{timeout: 1h, on_timeout: late}"))
        await asked.settled()
        reached = asyncio.Event()
        sessions = [await engine.start(looping(reached)) for _ in range(3)]
        await reached.wait()
        other = sqlite3.connect(path, isolation_level=None, timeout=20)
        other.execute("BEGIN IMMEDIATE")
        answering = asyncio.ensure_future(asked.answer("yes"))
        for _ in range(int(6 * PATIENCE / 0.005)):
            await asyncio.sleep(0.005)
        assert [session.status for session in sessions] == ["running"] * 3
        assert not answering.done()
        other.execute("ROLLBACK")
        other.close()
        await answering
        assert (await asked.result()).output == "yes"
        for session in sessions:
            result = await session.result()
            assert (result.status, result.loops[0].rounds) == ("completed", 20)
