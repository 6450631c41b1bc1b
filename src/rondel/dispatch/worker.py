"""A worker: drives the sessions that a dispatcher brings, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol, runtime_checkable

from rondel.dispatch.dispatcher import CONCURRENCY, LABEL, QUEUE, Dispatcher, group_name
from rondel.errors import (
    CallError,
    Disconnected,
    JournalError,
    RondelError,
    SessionBusy,
    UnknownSession,
)
from rondel.sessions.deadlines import DeadlineWatch
from rondel.sessions.engine import Engine

GRACE = 20.0
"""Seconds that steps under way have to end once a worker is told to stop."""

BUSY = 1.0
"""Seconds after which a session is looked at again that another process drives."""

LOOK = 1.0
"""Seconds between looks for sessions whose driver is gone."""

GROUP = 3 / 4
"""The part of a worker's places that one group may take, so that others never wait for it."""

log = logging.getLogger("rondel.worker")


@runtime_checkable
class SharedStore(Protocol):
    """A store that can say which sessions nobody drives any more."""

    def abandoned(self, limit: int = 100) -> list[str]:
        """Sessions with something to do that nobody drives."""
        ...


def share(concurrency: int) -> int:
    """How many of a worker's places one group may have, unless somebody says so."""
    return max(1, int(concurrency * GROUP))


class Worker:
    """Attends to sessions with an engine of its own."""

    def __init__(
        self,
        engine: Engine,
        dispatcher: Dispatcher,
        queues: Sequence[str] = (QUEUE,),
        concurrency: int = CONCURRENCY,
        per_group: int | None = None,
        grace: float = GRACE,
    ) -> None:
        if not isinstance(engine.store, SharedStore):
            raise CallError("a worker needs sessions in PostgreSQL; name them: --db postgresql://…")
        self._engine = engine
        self._store: SharedStore = engine.store
        self._dispatcher = dispatcher
        self._queues = tuple(queues)
        self._concurrency = concurrency
        self._per_group = share(concurrency) if per_group is None else per_group
        self._grace = grace
        self._under_way: set[str] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop; then others go on with what is still under way."""
        deadlines = DeadlineWatch(self._engine.store, self._put_in_line)
        deadlines.start()
        looking = asyncio.ensure_future(self._look_for_abandoned())
        leaving = asyncio.ensure_future(self._leave(stop))
        try:
            limits = (self._concurrency, self._per_group)
            await self._dispatcher.work(self._attend, stop, self._queues, *limits)
            await leaving
        finally:
            deadlines.close()
            for task in (looking, leaving):
                task.cancel()
            await asyncio.gather(looking, leaving, return_exceptions=True)

    async def _attend(self, id: str) -> None:
        self._under_way.add(id)
        try:
            await self._drive(id)
        except SessionBusy:
            await self._submit(id, BUSY)
        except Disconnected:
            log.info("session %s was handed over", id, extra={"session": id})
        except (CallError, UnknownSession) as error:  # no worker like this one can do it
            log.warning("session %s is left alone: %s", id, error, extra={"session": id})
        finally:
            self._under_way.discard(id)

    async def _drive(self, id: str) -> None:
        session = self._engine.get(id)
        if not self._engine.can_run(session.origin):
            raise CallError("it needs a graph or keys that are not here")
        await session.attend()
        await session.settled()

    async def _look_for_abandoned(self) -> None:
        """Submit the sessions whose driver is gone, be it a worker or another process."""
        while True:
            with suppress(JournalError):
                for session in await asyncio.to_thread(self._store.abandoned):
                    await self._put_in_line(session)
            await asyncio.sleep(LOOK)

    async def _put_in_line(self, id: str) -> None:
        if id in self._under_way:
            return
        row = await asyncio.to_thread(self._engine.store.session, id)
        if row is not None and self._engine.can_run(row):
            await self._submit(id)

    async def _submit(self, id: str, after: float = 0.0) -> None:
        row = await asyncio.to_thread(self._engine.store.session, id)
        if row is not None:
            queue = row.labels.get(LABEL, QUEUE)
            await self._dispatcher.submit(id, queue, group=group_name(row), after=after)

    async def _leave(self, stop: asyncio.Event) -> None:
        """After the signal to stop: let steps under way end, then release the sessions."""
        await stop.wait()
        sessions = list(self._under_way)
        await self._engine.drain(self._grace)
        for session in sessions:
            with suppress(RondelError):
                await self._engine.get(session).close()
                await self._submit(session)
