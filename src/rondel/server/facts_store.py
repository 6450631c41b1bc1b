"""The facts of every session that has ended: read once each, as they end or at the start."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec

from rondel.engine.core.state import ENDED
from rondel.errors import RondelError
from rondel.graph.plan import Plan
from rondel.journal.store import SessionRow
from rondel.server.access import GROUP, Caller
from rondel.server.server_database import ServerDatabase
from rondel.sessions.engine import Engine
from rondel.sessions.insights import SessionFacts, facts_of

PAGE = 200
LONG = 2000
"""Ticks of a session from which on it is read beside the event loop."""

PATIENCE = 5.0
"""The most seconds that a request waits for the newest sessions to be read."""


class SessionFactsStore:
    """Keeps facts in the database, and hands them out by graph."""

    def __init__(
        self,
        engine: Engine,
        database: ServerDatabase,
        told: Callable[[SessionFacts], None] = lambda _: None,
    ) -> None:
        self._told = told
        self._engine = engine
        self._database = database
        self._ended: asyncio.Queue[str] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._decode = msgspec.json.Decoder(SessionFacts).decode

    def open(self) -> None:
        """Begin to read, in the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Read no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def changed(self, id: str, status: str | None) -> None:
        """A session has a new status."""
        if status in ENDED:
            self._ended.put_nowait(id)

    async def by_graph(self, caller: Caller, graph_id: str | None) -> dict[str, list[SessionFacts]]:
        """The facts that a caller may see."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._ended.join()
        query = "SELECT graph, grp, facts FROM rondel.insight"
        rows = (
            await self._database.rows(query)
            if graph_id is None
            else await self._database.rows(f"{query} WHERE graph = ?", graph_id)
        )
        found: dict[str, list[SessionFacts]] = defaultdict(list)
        for graph, group, facts in rows:
            if caller.sees_group(group):
                found[graph].append(self._decode(facts))
        return found

    # Inside

    async def _run(self) -> None:
        await self._catch_up()
        while True:
            ended = await self._ended.get()
            try:
                await asyncio.sleep(0)
                with suppress(RondelError):
                    row = self._engine.store.session(ended)
                    if row is not None:
                        await self._read(row, live=True)
            finally:
                self._ended.task_done()

    async def _catch_up(self) -> None:
        """Read what ended before this server began, or elsewhere."""
        known: dict[str, int] = dict(
            await self._database.rows("SELECT session, length FROM rondel.insight")
        )
        for status in ENDED:
            before: str | None = None
            while True:
                page = self._engine.sessions(status, before=before, limit=PAGE)
                for row in page.rows:
                    if known.get(row.id) != row.length:
                        with suppress(RondelError):
                            await self._read(row, live=False)
                        await asyncio.sleep(0)
                before = page.next
                if before is None:
                    break
                await asyncio.sleep(0)

    async def _read(self, row: SessionRow, *, live: bool) -> None:
        if row.status not in ENDED:
            return
        plan = self._engine.outline_of(row).plan()
        read = partial(self._facts, row.id, plan)
        facts = read() if row.length < LONG else await asyncio.to_thread(read)
        if live:
            self._told(facts)
        await self._database.write(
            (
                "INSERT INTO rondel.insight VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (session) "
                "DO UPDATE SET length = excluded.length, facts = excluded.facts",
                *(row.id, row.graph_id, row.labels.get(GROUP)),
                *(row.length, row.created_at, msgspec.json.encode(facts)),
            )
        )

    def _facts(self, id: str, plan: Plan) -> SessionFacts:
        return facts_of(id, plan, (tick for ticks in self._engine.store.scan(id) for tick in ticks))
