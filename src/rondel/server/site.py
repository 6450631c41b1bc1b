"""The parts that all routes share: engine, graphs, hub, options."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypeVar

from fastapi import Depends
from starlette.requests import HTTPConnection

from rondel.errors import UnknownSession
from rondel.server.access import Caller
from rondel.server.addresses import guard
from rondel.server.asked import AskedQuestions
from rondel.server.deliveries import Deliveries
from rondel.server.facts_store import SessionFactsStore
from rondel.server.hooks import Hooks
from rondel.server.hub import Hub
from rondel.server.metrics import Metrics
from rondel.server.options import Options
from rondel.server.replies import Refusal
from rondel.server.secret_store import Secrets
from rondel.server.server_database import ServerDatabase
from rondel.server.takeover import Takeover
from rondel.server.tokens import Tokens
from rondel.sessions.engine import Engine
from rondel.sessions.graphs_folder import GraphsFolder
from rondel.sessions.session import Session

LONG = 2000
"""Ticks of a session from which on it is read beside the event loop."""

COMPUTERS = 2
"""Threads for what takes long."""

CALLERS = 10_000
"""The most callers whose requests are counted."""

Value = TypeVar("Value")


class RateLimiter:
    """A bucket for every caller: so many at once, and so many a second after that."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> float | None:
        """Count a request; None if it may be, else the seconds to wait."""
        now = time.monotonic()
        left, at = self._buckets.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        if left < 1.0:
            self._buckets[who] = left, now
            return (1.0 - left) / self._rate
        self._buckets[who] = left - 1.0, now
        if len(self._buckets) > CALLERS:
            del self._buckets[next(iter(self._buckets))]
        return None


class Site:
    """One server's parts."""

    def __init__(
        self,
        engine: Engine,
        graphs_dir: str | os.PathLike[str],
        options: Options,
        database: ServerDatabase,
    ) -> None:
        self.engine = engine
        self.needs_tokens = options.needs_tokens
        self.folder = GraphsFolder(graphs_dir, {} if self.needs_tokens else None)
        self.options = options
        self.database = database
        self.tokens = Tokens(database)
        self.secrets = Secrets(database)
        engine.use_environs(self.secrets.environ)
        self.metrics = Metrics()
        self.facts = SessionFactsStore(engine, database, self.metrics.ended)
        self.hooks = Hooks(database, allow_private=options.allow_private)
        self.deliveries = Deliveries(engine, database, self.hooks)
        self.hub = Hub(engine, options)
        self.takeover = Takeover(engine, lambda: self.has_room)
        self.hub.feed.listeners += [
            self.metrics.changed,
            self.facts.changed,
            self.deliveries.changed,
        ]
        self.rates = RateLimiter(options.limits.rate, options.limits.burst)
        self._computer = ThreadPoolExecutor(COMPUTERS, "rondel-computing")
        self._computing = 0
        self.ready = False
        self.asked = AskedQuestions()

    async def open(self) -> None:
        """Start, and recover sessions whose process is gone."""
        await self.secrets.refresh()
        if not self.options.allow_private:
            guard(asyncio.get_running_loop())
        self.hub.open()
        await self.engine.recover()
        if self.options.dispatcher is None:
            self.takeover.open()
        self.facts.open()
        self.deliveries.open()
        self.ready = True

    async def close(self) -> None:
        """End all streams, and release all sessions."""
        self.hub.close()
        await self.takeover.close()
        await self.facts.close()
        await self.deliveries.close()
        await self.engine.drain(self.options.grace)
        await self.engine.close()
        self._computer.shutdown(wait=False, cancel_futures=True)
        self.database.close()

    def session(self, id: str, caller: Caller) -> Session:
        """A session that the caller may see."""
        driven = self.engine.driven(id) if caller.groups is None else None
        if driven is not None:
            return driven
        row = self.engine.store.session(id)
        if row is None or not caller.sees(row):
            raise UnknownSession(f"there is no session {id!r}")
        return self.engine.get(id)

    def demand_open(self) -> None:
        """Raise Refusal for new work while the server goes away."""
        if self.hub.closing:
            raise Refusal(503, "closing", "the server is going away; try again in a moment")

    @property
    def has_room(self) -> bool:
        """Whether one more session may be under way."""
        return not self.hub.closing and self.engine.under_way < self.options.limits.sessions

    def demand_room(self) -> None:
        """Raise Refusal if too many sessions are under way."""
        if not self.has_room:
            most = self.options.limits.sessions
            raise Refusal(
                429, "too_many_sessions", f"{most:,} sessions are under way; wait for some", 5.0
            )

    def demand_rate(self, caller: Caller | None, client: tuple[str, int] | None) -> None:
        """Refuse somebody who asks too often."""
        named = caller is not None and caller.name
        wait = self.rates.take(f"token {named}" if named else str((client or "?")[0]))
        if wait is not None:
            rate = self.options.limits.rate
            raise Refusal(429, "too_fast", f"{rate:g} requests a second are allowed; wait", wait)

    async def compute(self, work: Callable[[], Value]) -> Value:
        """What may take long, in threads of its own: whatever else waits for one gets one."""
        if self._computing >= self.options.limits.computing:
            raise Refusal(429, "too_busy", "simulations and estimates are under way; wait", 5.0)
        self._computing += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._computer, work)
        finally:
            self._computing -= 1

    async def read(self, session: Session, read: Callable[[], Value]) -> Value:
        """Read a session's past; a long one beside the event loop."""
        if session.row.length < LONG:
            return read()
        return await asyncio.to_thread(read)


def site_of(connection: HTTPConnection) -> Site:
    """The site that a request came to."""
    site: Site = connection.app.state.site
    return site


async def _site_of(connection: HTTPConnection) -> Site:  # what is not async is called in a thread
    return site_of(connection)


SiteDep = Annotated[Site, Depends(_site_of)]
