"""Sessions are started, driven, answered, paused, stopped, forked and watched from anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest

from rondel import Event, Session
from rondel.cli import main
from rondel.dispatch import submitting
from rondel.dispatch.submitting import SubmittingEngine
from rondel.errors import WrongState
from rondel.testing.journal_suite import in_loop
from tests.cluster.harness import ASKING, PATIENCE, ROUNDS, Fleet, graph, server

REPEATING = """
graph:
  id: repeating
  breaker: {repeats: 3, min_entropy: 0}
  start: Writer
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [the very same words again]}}
    - {id: done, type: mark}
  edges:
    - {from: Writer, to: Writer}
    - {from: Writer, to: done, condition: false}
  loops:
    Writer: {max_rounds: 4}
"""


@pytest.fixture
def fleet(new_database: str, marks: Path) -> Iterator[Fleet]:
    """One worker."""
    with Fleet(new_database, marks, lease=5.0) as fleet:
        fleet.start()
        yield fleet


@asynccontextmanager
async def two_servers(
    url: str, marks: Path
) -> AsyncIterator[tuple[SubmittingEngine, SubmittingEngine]]:
    async with server(url, marks) as one, server(url, marks) as two, asyncio.timeout(PATIENCE):
        yield one, two


async def reached(session: Session, *statuses: str) -> None:
    """Watch until the session has one of these states."""
    async for event in session.events():
        if event.event == "session_state_change" and event.data["status"] in statuses:
            return


@pytest.mark.usefixtures("fleet")
@in_loop
async def test_started_on_one_server_and_answered_on_another(
    new_database: str, marks: Path
) -> None:
    async with two_servers(new_database, marks) as (one, two):
        session = await one.start(graph(ASKING, marks, CONFIG="actions: [yes, no]"))
        assert (await session.settled()).status == "waiting"
        there = two.get(session.id)
        assert {asked.node_id: asked.description for asked in there.questions()} == {"ask": "good?"}
        await there.answer("yes")
        assert (await session.result()).status == "completed"
        assert (await there.result()).status == "completed"
        with pytest.raises(WrongState):
            await there.answer("no")


@pytest.mark.usefixtures("fleet")
@in_loop
async def test_paused_here_and_resumed_there(new_database: str, marks: Path) -> None:
    async with two_servers(new_database, marks) as (one, two):
        session = await one.start(graph(ROUNDS, marks, SECONDS="0.4"))
        await reached(session, "running")
        there = two.get(session.id)
        await there.pause()
        await reached(session, "paused")
        assert session.status == "paused"
        await session.resume()
        assert (await there.result()).status == "completed"


@pytest.mark.usefixtures("fleet")
@in_loop
async def test_stopped_within_two_seconds_during_a_long_node(
    new_database: str, marks: Path
) -> None:
    async with two_servers(new_database, marks) as (one, two):
        session = await one.start(graph(ROUNDS, marks, SECONDS="30"))
        await reached(session, "running")
        began = monotonic()
        await two.get(session.id).stop()
        assert (await session.result()).status == "cancelled"
        assert monotonic() - began < 2.0


@in_loop
async def test_a_session_that_no_worker_takes_is_stopped_at_once(
    new_database: str, marks: Path
) -> None:
    async with two_servers(new_database, marks) as (one, two):
        session = await one.start(graph(ROUNDS, marks, SECONDS="30"))
        began = monotonic()
        await two.get(session.id).stop()
        assert (await session.result()).status == "cancelled"
        assert monotonic() - began < 2.0


@in_loop
async def test_an_answer_is_recorded_though_no_worker_is_there(
    new_database: str, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitting, "UNTAKEN", 0.2)
    async with two_servers(new_database, marks) as (one, two):
        with Fleet(new_database, marks, lease=1.0) as fleet:
            fleet.start()
            session = await one.start(graph(ASKING, marks, CONFIG="actions: [yes, no]"))
            assert (await session.settled()).status == "waiting"
        await two.get(session.id).answer("yes")
        with pytest.raises(WrongState):
            await one.get(session.id).answer("no")
        with Fleet(new_database, marks, lease=1.0) as fleet:
            fleet.start()
            assert (await session.result()).status == "completed"


@pytest.mark.usefixtures("fleet")
@in_loop
async def test_who_watches_may_change_servers_without_a_gap(new_database: str, marks: Path) -> None:
    async with two_servers(new_database, marks) as (one, two):
        session = await one.start(graph(ROUNDS, marks, SECONDS="0.2"))
        seen: list[Event] = []
        here = True
        while not seen or seen[-1].data.get("status") != "completed" or seen[-1].node_id:
            watched = (one if here else two).get(session.id)
            here = not here
            after = seen[-1].seq or 0 if seen else 0
            async for event in watched.events(after):
                if event.seq is not None:
                    seen.append(event)
                if len(seen) % 4 == 0:
                    break
        assert [event.seq for event in seen] == list(range(1, len(seen) + 1))


@pytest.mark.usefixtures("fleet")
@in_loop
async def test_a_worker_goes_on_with_what_was_resumed_without_running_it(
    new_database: str, marks: Path
) -> None:
    async with two_servers(new_database, marks) as (one, two):
        slow = REPEATING.replace("[the", "[{content: slowly, delay: 0.5}, the")
        slow = slow.replace("repeats: 3", "repeats: 9").replace("type: mark", "type: passthrough")
        session = await one.start(graph(slow, marks))
        await reached(session, "running")
        await session.pause()
        await reached(session, "paused")
        while one.driver_of(session.id) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        command = ["resume", session.id, "--no-run", "--db", new_database]
        assert await asyncio.to_thread(main, command) == 0
        assert (await two.get(session.id).result()).status == "completed"


@pytest.mark.usefixtures("fleet")
@in_loop
async def test_locked_by_the_breaker_and_unlocked_on_another_server(
    new_database: str, marks: Path
) -> None:
    async with two_servers(new_database, marks) as (one, two):
        session = await one.start(graph(REPEATING, marks))
        assert (await session.settled()).status == "suspended_locked"
        there = two.get(session.id)
        assert there.status == "suspended_locked"
        await there.unlock(risk_justification="it is meant to say so", by="Ada")
        assert (await session.result()).status == "completed"
        names = [event.event async for event in there.events()]
        assert names.count("circuit_breaker:tripped") == 1
        assert names.count("circuit_breaker:unlocked") == 1


@pytest.mark.usefixtures("fleet")
@in_loop
async def test_forked_on_another_server(new_database: str, marks: Path) -> None:
    async with two_servers(new_database, marks) as (one, two):
        session = await one.start(graph(ROUNDS, marks, SECONDS="0.05"))
        assert (await session.result()).status == "completed"
        fork = await two.get(session.id).fork("a[2]/a")
        assert (await fork.result()).status == "completed"
        shared = {step.address: step.outputs for step in session.steps()}
        again = {step.address: step.outputs for step in fork.steps()}
        assert again.keys() == shared.keys()
        assert again["a[1]/b"] == shared["a[1]/b"]
        assert again["a[2]/b"] != shared["a[2]/b"]
