"""Watching what this process drives: told by the driver's own fold, once it is durable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from rondel import Engine, Event, Graph, Session
from rondel.engine.ticks import AnyTick
from rondel.journal.memory import MemoryStore
from rondel.journal.store import Durable, Store
from rondel.sessions import stream
from tests.unit.sessions.playing import chain, saying, until


class SlowStore:
    """A store whose ticks are durable, and can be read, when it is told so."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.reads = 0
        self._writing: list[asyncio.Future[None]] = []
        self._durable = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def writer(self, id: str) -> Callable[[AnyTick], Durable]:
        def append(tick: AnyTick) -> Durable:
            self._store.append(id, tick)
            self._writing.append(asyncio.get_running_loop().create_future())
            return self._writing[-1]

        return append

    def read(self, id: str, start: int, stop: int | None = None) -> Sequence[AnyTick]:
        self.reads += 1
        return self._store.read(id, start, stop)[: max(self._durable - start, 0)]

    @property
    def unwritten(self) -> int:
        return len(self._writing)

    def finish(self) -> None:
        """What was written is durable."""
        for future in self._writing:
            future.set_result(None)
        self._durable += len(self._writing)
        self._writing.clear()

    def fail(self) -> None:
        """What was written is lost."""
        for future in self._writing:
            future.set_exception(OSError("the disk is gone"))
        self._writing.clear()


def three() -> Graph:
    return chain(saying(Graph("g", start="a", end="c"), "a", "b", "c"), "a", "b", "c")


async def started(engine: Engine, store: SlowStore) -> Session:
    starting = asyncio.ensure_future(engine.start(three()))
    await until(lambda: store.unwritten == 1)
    store.finish()
    return await starting


class Seen:
    """What somebody has seen of a session so far."""

    def __init__(self, session: Session) -> None:
        self.events: list[Event] = []
        self.task = asyncio.ensure_future(self._watch(session))

    async def _watch(self, session: Session) -> None:
        async for event in session.events():
            self.events.append(event)

    def said(self) -> list[tuple[str | None, str]]:
        return [(event.node_id, event.data["status"]) for event in self.events]


async def test_what_is_not_durable_yet_is_not_told_and_the_journal_is_read_once() -> None:
    store = SlowStore()
    async with Engine(cast(Store, store)) as engine:
        session = await started(engine, store)
        seen = Seen(session)
        await until(lambda: store.unwritten == 1)
        await asyncio.sleep(0.01)
        assert seen.said() == [(None, "running"), ("a", "running")]
        reads = store.reads
        for node, after in (("a", "b"), ("b", "c")):
            before = seen.said()
            store.finish()
            await until(lambda: store.unwritten == 1)
            await asyncio.sleep(0.01)
            assert seen.said() == [*before, (node, "completed"), (after, "running")]
        store.finish()
        await session.result()
        await seen.task
        assert store.reads - reads <= 1
        assert seen.said()[-2:] == [("c", "completed"), (None, "completed")]
        assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))


async def test_what_could_not_be_written_is_never_told() -> None:
    store = SlowStore()
    async with Engine(cast(Store, store)) as engine:
        session = await started(engine, store)
        seen = Seen(session)
        await until(lambda: store.unwritten == 1)
        await asyncio.sleep(0.01)
        store.fail()
        with pytest.raises(OSError, match="the disk is gone"):
            await seen.task
        assert seen.said() == [(None, "running"), ("a", "running")]


async def test_who_falls_far_behind_the_driver_reads_the_journal_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "TOLD_LIMIT", 5)
    graph = chain(saying(Graph("g", start="a", end="out"), "a", "b", "out"), "a", "b", "a")
    graph.edge("b", "out", label="limit")
    graph.loop("a", max_rounds=50)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        watcher = session.watcher()
        told = watcher.next_events()  # from here on it follows
        await session.result()
        while not watcher.over:
            told += watcher.next_events()
        assert told == [event async for event in session.events()]


async def test_who_follows_goes_on_when_the_session_waits_and_is_taken_up_again() -> None:
    graph = Graph("g", start="a", end="b")
    graph.node(id="a")(lambda _: "a")
    graph.add("person", "human")
    graph.node(id="b")(lambda _: "b")
    chain(graph, "a", "person", "b")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        seen, other = Seen(session), Seen(session)
        await session.settled()
        assert session.drive is None
        await session.answer("yes")
        await asyncio.gather(session.result(), seen.task, other.task)
        told = [event async for event in session.events()]
        assert seen.events == other.events == told
