"""An engine that drives nothing itself: workers drive what is started here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from time import monotonic
from typing import Any

from msgspec.structs import replace

from rondel.dispatch.dispatcher import LABEL, QUEUE, Dispatcher, group_name
from rondel.engine.shell.binding import Binding
from rondel.errors import GraphError
from rondel.journal.store import SessionRow
from rondel.sessions.controls import AnyControl, Pause, Stop
from rondel.sessions.delivery import ControlDelivery, Delivered
from rondel.sessions.engine import Engine
from rondel.sessions.graph import Graph
from rondel.sessions.local_session import LocalSession
from rondel.sessions.records import Result
from rondel.sessions.session import Session
from rondel.sessions.stores import Database

UNDER_WAY = ("pending", "running")

UNTAKEN = 5.0
"""Seconds that some worker has to take a session, before a control of it is recorded here."""


class SubmittedDelivery(ControlDelivery):
    """Has a control carried out by whichever worker takes the session."""

    def __init__(
        self, engine: SubmittingEngine, session: LocalSession, patience: float | None
    ) -> None:
        super().__init__(session, patience)
        self._engine = engine
        self._began = monotonic()

    async def deliver(self, control: AnyControl, *, run: bool) -> Delivered:
        """Returns when it is in the journal, or there was nothing to do; raises its refusal."""
        self._session.check_alive()
        return await self._send(control, run)

    async def post(self, control: AnyControl) -> int:
        """Leave a control for the session, and see that some worker reads it."""
        number = await super().post(control)
        row = await asyncio.to_thread(self._store.session, self._session.id)
        if row is not None:
            await self._engine.submit(row)
        return number

    async def _takes_over(self, control: AnyControl, letter: int, run: bool) -> bool:  # noqa: ARG002
        """Record what needs no worker, or finds none: nobody drives the session."""
        if not isinstance(control, Stop | Pause) and monotonic() - self._began < UNTAKEN:
            return False
        with suppress(GraphError):  # workers may know node types that nobody knows here
            return await super()._takes_over(control, letter, run=False)
        return False


class SubmittedSession(Session):
    """A session that some worker drives; every control goes to it by letter."""

    __slots__ = ()
    _engine: SubmittingEngine

    async def control(
        self, control: AnyControl, *, run: bool = True, patience: float | None = None
    ) -> Delivered:
        """Leave the control for a worker and await its reply; without `run` it is recorded here."""
        if not run:
            return await super().control(control, run=False, patience=patience)
        return await SubmittedDelivery(self._engine, self._local, patience).deliver(
            control, run=True
        )

    async def settled(self) -> Result:
        """Wait until the session is over or needs somebody outside to go on."""
        self._local.sessions.watch()
        while self.status in UNDER_WAY:
            self._local.check_alive()
            await self._local.audience.next_turn()
        return self.snapshot()


class SubmittingEngine(Engine):
    """Lays sessions down and has them driven by workers."""

    _session = SubmittedSession

    def __init__(
        self, db: Database, dispatcher: Dispatcher, queue: str = QUEUE, **options: Any
    ) -> None:
        super().__init__(db, **options)
        self._dispatcher = dispatcher
        self._queue = queue

    async def recover(self) -> list[Session]:
        """Workers go on with what is left."""
        return []

    async def fork(
        self, session: Session, at: str | None, changes: dict[str, Any], *, run: bool = True
    ) -> Session:
        """A new session that shares another's past; some worker goes on with it if `run`."""
        child = await super().fork(session, at, changes, run=False)
        if run:
            await self.submit(child.row)
        return child

    def _settled(self, local: LocalSession) -> Awaitable[Result]:
        return self._handle(local).settled()

    async def submit(self, row: SessionRow) -> None:
        """Put the session in line for a worker."""
        queue = row.labels.get(LABEL, self._queue)
        await self._dispatcher.submit(row.id, queue, group=group_name(row))

    async def _begin(
        self,
        row: SessionRow,
        graph: Graph,
        binding: Binding,  # noqa: ARG002
    ) -> LocalSession:
        row = replace(row, labels={**row.labels, LABEL: self._queue})
        local = await self._local.create(row, graph, to_drive=False)
        self._local.remember(local)
        await self.submit(row)
        return local
