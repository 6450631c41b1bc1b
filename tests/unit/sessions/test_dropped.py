"""An engine that nobody closed is collected, also if its own graph holds on to it."""

from __future__ import annotations

import asyncio
import gc
from weakref import ref

from rondel import Context, Engine, Graph, Session


async def under_way() -> ref[Session]:
    """A session whose node reaches its engine, and waits."""
    engine = Engine(None)
    graph = Graph("holding")

    @graph.node
    async def work(_: Context) -> str:
        await asyncio.get_running_loop().create_future()
        return str(engine)

    session = await engine.start(graph, "task")
    await asyncio.sleep(0.01)
    assert session.status == "running"
    return ref(session)


def test_a_session_under_way_goes_with_its_event_loop() -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it would tell of a task that is destroyed
    session = loop.run_until_complete(under_way())
    loop.close()
    del loop
    gc.collect()
    gc.collect()
    assert session() is None
