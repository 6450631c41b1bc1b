"""Sessions that nobody drives any more go on at a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rondel import Context, Engine, Graph
from rondel.errors import JournalFull
from rondel.journal.sqlite.store import SqliteStore
from rondel.server import takeover
from rondel.server.takeover import Takeover
from rondel.sessions import local_sessions


def talkative(seen: list[int]) -> Graph:
    """A loop that writes a lot."""
    graph = Graph("talkative")

    @graph.node
    async def write(inp: Context) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        seen.append(inp.round)
        return {"round": inp.round, "text": "x" * 2000}

    @graph.node
    def done(inp: Context) -> dict[str, Any]:
        return {"rounds": inp.data["round"]}

    graph.edge("write", "write", when="data.round < 60")
    graph.edge("write", "done", when="data.round >= 60")
    return graph


async def test_what_a_full_disk_stopped_goes_on_by_itself_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_sessions, "LEASE", 0.5)
    monkeypatch.setattr(takeover, "LOOK_INTO_FILE", 0.1)
    monkeypatch.setattr(takeover, "AGAIN", 0.2)
    seen: list[int] = []
    async with Engine(tmp_path / "sessions.db") as engine:
        assert isinstance(engine.store, SqliteStore)
        file = engine.store._writer._db
        watching = Takeover(engine, lambda: True)
        watching.open()
        (size,) = file.execute("PRAGMA page_count").fetchone()
        file.execute(f"PRAGMA max_page_count = {size + 30}")
        session = await engine.start(talkative(seen), "task")
        with pytest.raises(JournalFull):
            await session.result()
        assert isinstance(engine.store.trouble, JournalFull)
        await asyncio.sleep(1.0)  # it is tried again meanwhile, and refused
        file.execute(f"PRAGMA max_page_count = {size + 3000}")
        async with asyncio.timeout(30):
            async for event in engine.get(session.id).events():
                last = event
        assert last.data["status"] == "completed"
        assert (await session.result()).data == {"rounds": 60}
        await watching.close()
    assert seen[-1] == 60
    assert set(seen) == set(range(1, 61))
