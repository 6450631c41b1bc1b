"""A session that another process took while it was driven here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.errors import LeaseLost
from rondel.sessions import local_sessions
from tests import postgres


def waiting(go_on: asyncio.Event) -> Graph:
    """A node that waits for the test, and one after it."""
    graph = Graph("slow")

    @graph.node
    async def wait(_: Any) -> str:
        await go_on.wait()
        return "done"

    @graph.node
    async def tell(inp: Any) -> str:
        return str(inp.text)

    graph.edge("wait", "tell")
    return graph


async def test_a_session_that_was_lost_can_be_attended_to_again(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    async with Engine(tmp_path / "shared.db") as engine:
        session = await engine.start(waiting(go_on))
        lease = engine.store.lease(session.id)
        assert lease is not None
        engine.store.release(session.id, lease.owner)
        async with Engine(tmp_path / "shared.db") as other:
            assert other.store.acquire(session.id, "another", 60.0).granted
            go_on.set()
            with pytest.raises(LeaseLost):
                await session.result()
            other.store.release(session.id, "another")
        await session.attend()
        assert (await session.result()).output == "done"


async def test_a_session_whose_database_was_away_for_longer_than_the_lease_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_sessions, "LEASE", 0.4)
    server, go_on = await asyncio.to_thread(postgres.PostgresServer), asyncio.Event()
    try:
        async with Engine(server.url()) as engine:
            session = await engine.start(waiting(go_on))
            await asyncio.to_thread(server.stop)
            go_on.set()
            await asyncio.sleep(2.0)
            await asyncio.to_thread(server.start)
            assert (await session.result()).output == "done"
    finally:
        await asyncio.to_thread(server.close)
