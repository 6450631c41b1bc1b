"""Every dispatcher passes the conformance suite."""

from __future__ import annotations

import secrets
from asyncio import Event
from collections.abc import Awaitable
from typing import Any

import psycopg
import pytest

from rondel.dispatch.dispatcher import QUEUE, Attend, Dispatcher
from rondel.dispatch.dispatchers import dispatcher
from rondel.dispatch.procrastinate import ProcrastinateDispatcher
from rondel.dispatch.temporal import TemporalDispatcher
from rondel.errors import CallError, JournalUnwritable
from rondel.testing.dispatcher_suite import DispatcherSuite
from rondel.testing.journal_suite import in_loop
from tests.postgres import as_role


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
