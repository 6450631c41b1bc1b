"""Waiting for a write of the SQLite store, alone and with others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rondel.errors import LeaseLost
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import Durable
from rondel.testing.journal_suite import done, in_loop, row, tick


@pytest.fixture(params=[0.001, -1.0], ids=["at the end of the turn", "in the thread"])
def store(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SqliteStore]:
    monkeypatch.setattr("rondel.journal.sqlite.writer.SLOW", request.param)
    store = SqliteStore(tmp_path / "journal.db")
    yield store
    store.close()


async def two_sessions(store: SqliteStore) -> None:
    for wait in [store.create(row("a"), "me", 60), store.create(row("b"), "me", 60)]:
        await done(wait)


def both(store: SqliteStore, n: int) -> tuple[Durable, Durable]:
    """A tick each for two sessions, in one turn; nobody has waited for them yet."""
    return store.writer("a")(tick(n)), store.writer("b")(tick(n))


async def append(store: SqliteStore, name: str, n: int) -> None:
    """Make a tick durable; begun as a task, it waits until the turn has ended."""
    await done(store.writer(name)(tick(n)))


@in_loop
async def test_who_is_cancelled_while_waiting_goes_and_the_tick_stays(store: SqliteStore) -> None:
    await two_sessions(store)
    tasks = [asyncio.ensure_future(append(store, name, 0)) for name in "ab"]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await tasks[0]
    with pytest.raises(asyncio.CancelledError):
        await tasks[1]
    await append(store, "b", 1)
    assert store.read("b", 0) == [tick(0), tick(1)]


@in_loop
async def test_a_write_can_be_awaited_after_it_is_durable_and_again(store: SqliteStore) -> None:
    await two_sessions(store)
    first, second = both(store, 0)
    await done(second)
    await done(first)
    await done(first)
    assert store.read("a", 0) == [tick(0)]


@in_loop
async def test_writes_wait_in_gather_and_under_a_timeout(store: SqliteStore) -> None:
    await two_sessions(store)
    first, second = both(store, 0)
    assert first is not None
    assert second is not None
    await asyncio.wait_for(asyncio.gather(first, second), 10)
    assert store.read("a", 0) == store.read("b", 0) == [tick(0)]


@in_loop
async def test_two_tasks_may_wait_for_one_write(store: SqliteStore) -> None:
    await two_sessions(store)
    first, second = both(store, 0)
    await asyncio.gather(done(first), done(first), done(second))
    assert store.read("a", 0) == store.read("b", 0) == [tick(0)]


@in_loop
async def test_of_those_who_wait_together_only_the_loser_hears_of_it(
    store: SqliteStore, tmp_path: Path
) -> None:
    await two_sessions(store)
    other = SqliteStore(tmp_path / "journal.db")
    other.release("b", "me")
    assert other.acquire("b", "you", 60).granted
    outcomes = await asyncio.gather(*map(done, both(store, 0)), return_exceptions=True)
    assert outcomes[0] is None
    assert isinstance(outcomes[1], LeaseLost)
    await done(store.append("a", tick(1)))
    assert store.read("a", 0) == [tick(0), tick(1)]
    assert store.read("b", 0) == []
    other.close()


@in_loop
async def test_a_call_that_hurries_writes_on_does_not_run_those_who_wait(
    store: SqliteStore,
) -> None:
    await two_sessions(store)
    tasks = [asyncio.ensure_future(append(store, name, 0)) for name in "ab"]
    await asyncio.sleep(0)
    store.post("a", b"{}")
    assert store.read("a", 0) == [tick(0)]
    assert not any(task.done() for task in tasks)
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 63, 64, 65, 150])
@in_loop
async def test_a_turn_of_any_number_of_ticks_is_written_whole(
    store: SqliteStore, count: int
) -> None:
    await two_sessions(store)
    waits = [both(store, n) for n in range(count)]
    for first, second in waits:
        await done(first)
        await done(second)
    expected = [tick(n) for n in range(count)]
    assert store.read("a", 0) == store.read("b", 0) == expected
