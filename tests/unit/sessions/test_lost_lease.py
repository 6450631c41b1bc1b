"""A session that another process took while it was driven here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.errors import LeaseLost


async def test_a_session_that_was_lost_can_be_attended_to_again(tmp_path: Path) -> None:
    graph, go_on = Graph("slow"), asyncio.Event()

    @graph.node
    async def wait(_: Any) -> str:
        await go_on.wait()
        return "done"

    async with Engine(tmp_path / "shared.db") as engine:
        session = await engine.start(graph)
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
