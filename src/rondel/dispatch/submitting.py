"""An engine that drives nothing itself: what is started or asked for here, workers do."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from rondel.dispatch.dispatcher import LABEL, QUEUE, Dispatcher
from rondel.engine.shell.binding import Binding
from rondel.journal.store import SessionRow, finish
from rondel.journal.working_memory import group_of
from rondel.sessions.controls import AnyControl
from rondel.sessions.delivery import Delivered, Delivery
from rondel.sessions.engine import Engine
from rondel.sessions.fork import Fork
from rondel.sessions.graph import Graph
from rondel.sessions.records import Result
from rondel.sessions.session import Session
from rondel.sessions.stores import Database

UNDER_WAY = ("pending", "running")


class Sending(Delivery):
    """Has a control carried out by whichever worker takes the session."""

    async def deliver(self, control: AnyControl, *, run: bool) -> Delivered:
        """Returns when it is in the journal, or there was nothing to do; raises its refusal."""
        return await self._send(control, run)

    async def _takes_over(self, control: AnyControl, letter: int, run: bool) -> bool:  # noqa: ARG002
        return False


class SubmittedSession(Session):
    """A session that some worker drives; every control goes to it by letter."""

    __slots__ = ()

    async def control(
        self, control: AnyControl, *, run: bool = True, patience: float | None = None
    ) -> Delivered:
        """Leave it for a worker, and wait for its reply; what is not to run is recorded here."""
        if not run:
            return await super().control(control, run=False, patience=patience)
        self.check_alive()
        return await Sending(self._engine, self, patience).deliver(control, run=True)

    async def settled(self) -> Result:
        """Wait until the session is over or needs somebody outside to go on."""
        self._engine.watch()
        while self.status in UNDER_WAY:
            self.check_alive()
            await self._audience.next_turn()
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

    async def post(self, id: str, control: AnyControl) -> int:
        """Leave a control for the session, and see that some worker reads it."""
        number = await super().post(id, control)
        row = await asyncio.to_thread(self.store.session, id)
        if row is not None:
            await self._submit(row)
        return number

    async def fork(
        self, session: Session, at: str | None, changes: dict[str, Any], *, run: bool = True
    ) -> Session:
        """A new session that shares another's past; some worker goes on with it if `run`."""
        child = await super().fork(session, at, changes, run=False)
        if run:
            await self._submit(child.row)
        return child

    async def _begin(
        self,
        row: SessionRow,
        graph: Graph,
        binding: Binding,  # noqa: ARG002
        fork: Fork | None = None,  # noqa: ARG002
    ) -> Session:
        row = replace(row, labels={**row.labels, LABEL: self._queue})
        await finish(self.store.create(row))
        self._graph_cache.keep(row.id, graph)
        session = self._handles[row.id] = self._session(row.id, self, graph)
        await self._submit(row)
        return session

    async def _submit(self, row: SessionRow) -> None:
        group = group_of(row.id, row.inputs)
        name = "" if group.own else group.name
        await self._dispatcher.submit(row.id, row.labels.get(LABEL, self._queue), group=name)
