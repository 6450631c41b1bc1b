"""The engine: starts sessions, and drives those that are under way in this process."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self
from weakref import WeakValueDictionary

from rondel.engine.message import Part, attached_in
from rondel.engine.protocols import Middleware
from rondel.engine.registry import Registry
from rondel.engine.shell.binding import Binding
from rondel.errors import CallError, CodeChanged, Disconnected
from rondel.journal.attachments import LARGEST, Attachments
from rondel.journal.store import MemoryEntry, Page, SessionRow, Store
from rondel.journal.working_memory import WorkingMemory, confidence_in
from rondel.sessions.expectation import Expectation
from rondel.sessions.fork import create_fork, plan_fork, row_of, start_fork
from rondel.sessions.graph import Graph
from rondel.sessions.graph_cache import Environs, GraphCache
from rondel.sessions.labels import Inputs, as_graph, as_inputs, debugging, new_id
from rondel.sessions.local_session import LocalSession
from rondel.sessions.local_sessions import LocalSessions
from rondel.sessions.permissions import Permissions
from rondel.sessions.quarantine import Quarantine, surest
from rondel.sessions.records import Result
from rondel.sessions.session import Session
from rondel.sessions.stores import DEFAULT, Database, Durability, open_store
from rondel.sessions.traces import traces

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

log = logging.getLogger("rondel.sessions")

LOOKED_AT = 100
"""Sessions that are looked at in a row, before others get their turn."""


class Engine:
    """Runs graphs and keeps their sessions: in a file, in PostgreSQL, or in memory (`db=None`)."""

    _session = Session

    def __init__(
        self,
        db: Database = DEFAULT,
        *,
        durability: Durability = "normal",
        registry: Registry | None = None,
        middleware: Sequence[Middleware] = (),
        allow_python: bool = False,
        allow_commands: bool = False,
        strict_code: bool = False,
        max_attachment: int = LARGEST,
        tracer_provider: TracerProvider | Literal[False] | None = None,
    ) -> None:
        self.store: Store = open_store(db, durability)
        self.attachments = Attachments(self.store, max_attachment)
        permissions = Permissions(allow_python, allow_commands, not strict_code)
        traced = traces(tracer_provider)
        around = middleware if traced is None else (traced, *middleware)
        graphs = GraphCache(self.store, self.attachments, registry, permissions, around)
        self._local = LocalSessions(self.store, graphs, traced)
        self._handles: WeakValueDictionary[str, Session] = WeakValueDictionary()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def use_environs(self, environs: Environs) -> None:
        """Take the variables of sessions' graphs from there, by the labels of each session."""
        self._local.graphs.environs = environs

    # Sessions

    async def start(
        self,
        graph: Graph | str | os.PathLike[str],
        inputs: Inputs = None,
        *,
        debug: Sequence[str] = (),
        labels: dict[str, Any] | None = None,
        id: str = "",
    ) -> Session:
        """Start a session of the graph; plain text is `{"task": TEXT}`.

        It pauses after every round of the loops whose heads `debug` names: `session.resume()`
        goes on for one round. `labels` are kept with it to find it again; `id` is its own if the
        caller has one for it. Raises GraphError or CallError if the graph or the call is wrong.
        """
        local = await self._start(graph, inputs, debug, labels or {}, id)
        self._local.remember(local)
        return self._handle(local)

    async def run(self, graph: Graph | str | os.PathLike[str], inputs: Inputs = None) -> Result:
        """Start a session and wait until it is over or needs somebody outside to go on."""
        return await self._settled(await self._start(graph, inputs))

    def get(self, id: str) -> Session:
        """The session of that id."""
        return self._handles.get(id) or self._handle(self._local.get(id))

    def driven(self, id: str) -> Session | None:
        """The session of that id, if this process drives it."""
        return self.get(id) if id in self._local.driven else None

    async def resume(self, id: str, graph: Graph | None = None) -> Session:
        """Go on with a session.

        One whose graph was written in Python needs that graph again, and so does one whose keys
        stand in its file and not in the environment.
        """
        session = self.get(id)
        if graph is not None:
            session.use(graph)
            self._local.graphs.hand_over(id, session.graph)
        await session.resume()
        return session

    async def recover(self) -> list[Session]:
        """Go on with sessions whose process is gone, and watch all deadlines from now on."""
        found = await self.abandoned("running") + await self.abandoned("pending")
        self._local.mind_deadlines()
        return [session for name in found if (session := await self._recovered(name))]

    async def abandoned(self, status: str = "running") -> list[str]:
        """Sessions in that status that no living process drives, and that can go on here."""
        found: list[str] = []
        before: str | None = None
        while True:
            page = self.store.sessions(status, before=before, limit=LOOKED_AT)
            found += [row.id for row in page.rows if self._local.is_abandoned(row)]
            before = page.next
            if before is None:
                return found
            await asyncio.sleep(0)

    async def _recovered(self, id: str) -> Session | None:
        try:
            return await self.resume(id)
        except CodeChanged as error:
            log.warning("a session was left running and stays so: %s", error)
            return None

    def sessions(
        self,
        status: str | None = None,
        graph_id: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Sessions, newest first, a page at a time."""
        return self.store.sessions(status, graph_id, before, limit)

    async def fork(
        self, session: Session, at: str | None, changes: dict[str, Any], *, run: bool = True
    ) -> Session:
        """A new session that shares another's past up to an address; it goes on if `run`."""
        fork = plan_fork(session, at, changes)
        begin = start_fork if run else create_fork
        return self._handle(await begin(self._local, row_of(session, fork), fork))

    async def attach(
        self,
        source: str | os.PathLike[str] | bytes,
        media_type: str | None = None,
        name: str | None = None,
    ) -> Part:
        """Keep a file or bytes; start a session with the result among its `attachments`."""
        return await self.attachments.add(source, media_type, name)

    async def load(self, part: Part) -> bytes:
        """The content of an attachment."""
        return await self.attachments.load(part)

    async def promote(
        self, id: str, address: str, confidence: float | None = None
    ) -> list[MemoryEntry]:
        """Put what a finished step emitted into the working memory of its session's group.

        `confidence` takes the place of the messages' own `data.confidence`. Messages below the
        graph's confidence are left out; if none is left, it raises CallError.
        """
        if confidence is not None and not 0 <= confidence <= 1:
            raise CallError(f"a confidence is a number from 0 to 1, not {confidence:g}")
        session = self.get(id)
        log = Quarantine(session.plan, session.journal())
        step = log.at(address)
        memory = WorkingMemory(self.store, session.plan.spec.memory)
        own = [confidence_in(message.data) for message in step.messages]
        memory.demand_sure(surest(own) if confidence is None else confidence)
        where = (id, log.inputs, address, step.node_id)
        return await asyncio.to_thread(memory.promote, *where, step.messages, confidence)

    async def drain(self, grace: float) -> None:
        """Begin no further step; steps under way have `grace` seconds to end."""
        await self._local.drain(grace)

    async def close(self) -> None:
        """Release every session; each can be resumed from where it is."""
        self._closed = True
        await self._local.close()
        self.store.close()

    # What is known here

    @property
    def under_way(self) -> int:
        """How many sessions this process drives."""
        return len(self._local.driven)

    @property
    def expectation(self) -> Expectation:
        """How many tokens sessions are expected to take."""
        return self._local.expectation

    def driver_of(self, id: str) -> str | None:
        """The other living process that drives the session, as text, or None."""
        return self._local.driver_of(id)

    def can_run(self, row: SessionRow) -> bool:
        """Whether the functions and secrets of the session's graph are here."""
        return self._local.graphs.can_run(row)

    def outline_of(self, row: SessionRow) -> Graph:
        """The structure of a session's graph: enough to read the session, not to run it."""
        return self._local.graphs.outline(row)

    def bind(self, graph: Graph) -> Binding:
        """The graph with its processors and conditions, and all else that its sessions share.

        It is made once for each graph; who asks before the first session starts, starts that one
        as fast as the next.
        """
        return self._local.graphs.prepare(graph)[0]

    # Inside

    def _settled(self, local: LocalSession) -> Awaitable[Result]:
        return local.settled()

    def _handle(self, local: LocalSession) -> Session:
        session = self._handles[local.id] = self._session(self, local)
        return session

    async def _start(
        self,
        graph: Graph | str | os.PathLike[str],
        inputs: Inputs,
        debug: Sequence[str] = (),
        labels: Mapping[str, Any] = {},
        id: str = "",
    ) -> LocalSession:
        if self._closed:
            raise Disconnected("the engine is closed; it starts nothing any more")
        given = as_inputs(inputs)
        graph = as_graph(graph)
        graphs = self._local.graphs
        binding, always = graphs.prepare(graph)
        if "attachments" in given:
            self.attachments.demand(attached_in(given))
        stored = graph.stored
        row = SessionRow(
            id=id or new_id(),
            graph_id=graph.id,
            document=stored.document,
            includes=stored.includes,
            inputs=given,
            labels={**labels, **always, **debugging(binding.plan, debug)},
        )
        return await self._begin(row, graph, binding)

    async def _begin(self, row: SessionRow, graph: Graph, binding: Binding) -> LocalSession:
        local = await self._local.create(row, graph, to_drive=True)
        await local.begin(binding, row)
        return local


def run(
    graph: Graph | str | os.PathLike[str],
    inputs: Inputs = None,
    *,
    allow_python: bool = False,
    allow_commands: bool = False,
) -> Result:
    """Run a graph in memory, block until it is over, and return its result."""

    async def main() -> Result:
        async with Engine(
            db=None, allow_python=allow_python, allow_commands=allow_commands
        ) as engine:
            return await engine.run(graph, inputs)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    raise CallError("rondel.run blocks; inside async code write: await engine.run(graph, inputs)")
