"""Every dispatcher passes the conformance suite."""

from __future__ import annotations

import asyncio
import secrets
import signal
from asyncio import Event
from collections.abc import Awaitable
from contextlib import suppress
from time import monotonic
from typing import Any

import psycopg
import pytest

from rondel.dispatch import procrastinate
from rondel.dispatch.dispatcher import QUEUE, Attend, Dispatcher
from rondel.dispatch.dispatchers import dispatcher
from rondel.dispatch.procrastinate import ProcrastinateDispatcher
from rondel.dispatch.temporal import TemporalDispatcher
from rondel.errors import CallError, JournalUnwritable
from rondel.journal.postgres.store import PostgresStore
from rondel.testing.dispatcher_suite import DispatcherSuite
from rondel.testing.journal_suite import done, in_loop, row
from tests import postgres
from tests.postgres import as_role

_DIES = """
WITH dead AS (
    INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 minute')
    RETURNING id
)
UPDATE procrastinate_jobs SET status = 'doing', worker_id = dead.id FROM dead
"""
"""All jobs are those of a worker that has been silent for a minute."""


class TestProcrastinate(DispatcherSuite):
    @pytest.fixture(autouse=True)
    def _place(self, queue_database: str) -> None:
        self.address = queue_database

    def dispatcher(self) -> Dispatcher:
        return ProcrastinateDispatcher(self.address, lease=3.0)


def test_an_unknown_dispatcher_is_refused() -> None:
    with pytest.raises(CallError, match="there is procrastinate"):
        dispatcher("celery", "postgresql://x")


@pytest.mark.timeout(20)
@in_loop
async def test_a_queue_that_cannot_be_reached_or_made_is_told_in_one_sentence(
    new_database: str,
) -> None:
    nowhere = dispatcher("procrastinate", "postgresql://me:geheim@127.0.0.1:1/x")
    with pytest.raises(JournalUnwritable, match="cannot be reached; check that it runs"):
        await nowhere.open()
    with psycopg.connect(new_database, autocommit=True) as db:
        db.execute("CREATE ROLE queueless; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        try:
            barred = dispatcher("procrastinate", as_role(new_database, "queueless"))
            with pytest.raises(JournalUnwritable, match="let its user make tables in the database"):
                await barred.open()
        finally:
            db.execute("DROP ROLE queueless")


@pytest.mark.parametrize("holds", [True, False])
@in_loop
async def test_a_dead_workers_job_comes_back_as_soon_as_nobody_has_its_session(
    queue_database: str, *, holds: bool
) -> None:
    store = PostgresStore(queue_database)
    await done(store.create(row("s"), "dead", 1.0 if holds else 0.01))
    stop, came = Event(), []

    async def attend(session: str) -> None:
        came.append((session, store.lease(session) is not None, monotonic()))
        stop.set()

    queue = ProcrastinateDispatcher(queue_database, lease=7.0)
    await queue.open()
    await queue.submit("s")
    with psycopg.connect(queue_database, autocommit=True) as db:
        db.execute(_DIES)
    began = monotonic()
    await queue.work(attend, stop)
    ((session, driven, at),) = came
    assert (session, driven) == ("s", False)
    assert at - began < 1.0 + 0.7
    await queue.close()
    store.close()


@pytest.mark.timeout(60)
@in_loop
async def test_a_queue_whose_database_was_away_goes_on_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(procrastinate, "_PAUSE", 0.1)
    monkeypatch.setattr(procrastinate, "_AWAY", 0.5)
    own = await asyncio.to_thread(postgres.PostgresServer)
    came: asyncio.Queue[str] = asyncio.Queue()
    try:
        queue, stop = ProcrastinateDispatcher(own.url(), lease=3.0), Event()
        await queue.open()
        working = asyncio.ensure_future(queue.work(came.put, stop))
        await queue.submit("before")
        assert await came.get() == "before"
        await asyncio.to_thread(own.stop, signal.SIGINT)
        for ask in (queue.submit("meanwhile"), queue.missing(["meanwhile"])):
            with pytest.raises(JournalUnwritable, match="cannot be reached"):
                await ask
        await asyncio.sleep(1.0)
        assert not working.done()
        await asyncio.to_thread(own.start)
        async with asyncio.timeout(10):
            while came.empty():
                with suppress(JournalUnwritable):
                    await queue.submit("after")
                await asyncio.sleep(0.1)
        assert await came.get() == "after"
        told = [entry for entry in caplog.messages if "the queue is away" in entry]
        assert len(told) == 1
        stop.set()
        await working
        await queue.close()
    finally:
        own.close()


class Apart(TemporalDispatcher):
    """A dispatcher whose sessions and queues are those of one test."""

    def __init__(self, address: str, name: str) -> None:
        super().__init__(3.0, target_host=address)
        self._name = name

    async def submit(
        self, session: str, queue: str = QUEUE, *, group: str = "", after: float = 0.0
    ) -> None:
        names = (f"{self._name}/{session}", f"{self._name}/{queue}")
        await super().submit(*names, group=group, after=after)

    async def work(self, attend: Attend, stop: Event, queues: Any = (), *limits: Any) -> None:
        def told(session: str) -> Awaitable[None]:
            return attend(session.removeprefix(f"{self._name}/"))

        await super().work(told, stop, [f"{self._name}/{queue}" for queue in queues], *limits)


class TestTemporal(DispatcherSuite):
    @pytest.fixture(autouse=True)
    def _place(self, temporal_address: str) -> None:
        self.address = temporal_address
        self.name = secrets.token_hex(4)

    def dispatcher(self) -> Dispatcher:
        return Apart(self.address, self.name)
