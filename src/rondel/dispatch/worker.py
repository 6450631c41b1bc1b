"""A worker: drives the sessions that a dispatcher brings, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Protocol, runtime_checkable

from rondel.dispatch.dispatcher import CONCURRENCY, LABEL, QUEUE, Dispatcher, group_name
from rondel.errors import (
    CallError,
    Disconnected,
    GraphError,
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
"""Seconds after which a session is looked at again whose driver has not read its letters."""

LOOK = 0.5
"""Seconds between looks for sessions whose driver is gone."""

FEW = 100
"""How many of these are submitted together."""

AGAIN = 10.0
"""Seconds after which one is tried again that could not run here."""

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
        self._under_way: Counter[str] = Counter()
        """How many jobs there are for each session that is attended to."""
        self._held: set[str] = set()
        """The sessions that hold a place."""
        self._seen: set[str] = set()
        """What was abandoned at the last look."""
        self._not_here: dict[str, float] = {}
        """Abandoned sessions that cannot run here, and when each is tried again."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop; then others go on with what is still under way."""
        deadlines = DeadlineWatch(self._engine.store, self._wake)
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

    async def _attend(self, session: str) -> None:
        self._under_way[session] += 1
        try:
            await self._drive(session)
        except SessionBusy:  # its driver reads its letters, unless it lets go of it or is dead
            if await asyncio.to_thread(self._engine.store.pending, [session]):
                await self._submit(session, BUSY)
        except Disconnected:
            log.info("session %s was handed over", session, extra={"session": session})
        except (CallError, GraphError, UnknownSession) as error:  # no worker like this one can
            told = "session %s is left alone: %s"
            log.warning(told, session, error, extra={"session": session})
        finally:
            self._under_way[session] -= 1
            if not self._under_way[session]:
                del self._under_way[session]

    async def _drive(self, id: str) -> None:
        """Go on with the session, and hold the place until it rests; it takes no second one."""
        session = self._engine.get(id)
        await session.attend()
        if id not in self._held:
            self._held.add(id)
            try:
                await session.settled()
            finally:
                self._held.discard(id)

    async def _look_for_abandoned(self) -> None:
        """Submit the sessions whose driver is gone, be it a worker or another process.

        Only those found twice: until then the queue itself brings what a dead worker had.
        """
        while True:
            with suppress(JournalError):
                await self._submit_abandoned()
            await asyncio.sleep(LOOK)

    async def _submit_abandoned(self) -> None:
        found = await asyncio.to_thread(self._store.abandoned, FEW + len(self._not_here))
        now = monotonic()
        late = {session for session, again in self._not_here.items() if again <= now}
        for session in self._not_here.keys() - set(found) | late:
            del self._not_here[session]
        seen, self._seen = self._seen, set(found)
        twice = [name for name in found if name in seen and name not in self._not_here]
        for session in await self._dispatcher.missing(twice) if twice else ():
            if not await self._wake(session):
                self._not_here[session] = now + AGAIN

    async def _wake(self, id: str) -> bool:
        """Submit a session unless it is under way here; False if it cannot run here."""
        return id in self._under_way or await self._submit(id)

    async def _submit(self, id: str, after: float = 0.0) -> bool:
        """Put the session in line; False if no worker like this one can run it."""
        row = await asyncio.to_thread(self._engine.store.session, id)
        if row is None or not self._engine.can_run(row):
            return False
        queue = row.labels.get(LABEL, QUEUE)
        await self._dispatcher.submit(id, queue, group=group_name(row), after=after)
        return True

    async def _leave(self, stop: asyncio.Event) -> None:
        """After the signal to stop: let steps under way end, then release the sessions."""
        await stop.wait()
        sessions = list(self._under_way)
        await self._engine.drain(self._grace)
        for session in sessions:
            with suppress(RondelError):
                await self._engine.get(session).close()
                await self._submit(session)
