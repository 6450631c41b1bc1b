"""The engine: starts sessions, and drives those that are under way in this process."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary, WeakValueDictionary

from rondel.engine import ticks
from rondel.engine.message import Part, attached_in
from rondel.engine.protocols import Middleware
from rondel.engine.registry import Registry
from rondel.engine.shell.binding import Binding
from rondel.engine.shell.host import Alarms
from rondel.errors import (
    CallError,
    Disconnected,
    GraphError,
    JournalError,
    RondelError,
    SessionBusy,
    UnknownSession,
)
from rondel.guards.circuit_breaker import circuit_breaker
from rondel.guards.memory import MemoryGuard, promoted_nodes
from rondel.journal.attachments import LARGEST, Attachments
from rondel.journal.memory import MemoryStore
from rondel.journal.store import MemoryEntry, Page, SessionRow, Store, finish
from rondel.journal.working_memory import WorkingMemory, confidence_in
from rondel.sessions.clocks import Clocks
from rondel.sessions.controls import Answer, AnyControl, to_letter
from rondel.sessions.deadlines import DeadlineWatch, due_at
from rondel.sessions.drive import Drive, fold
from rondel.sessions.expectation import Expectation
from rondel.sessions.fork import Fork, plan_fork
from rondel.sessions.graph import Graph, as_graph
from rondel.sessions.graph_cache import GraphCache
from rondel.sessions.ids import is_gone, new_id, new_owner, process_of
from rondel.sessions.inputs import Inputs, as_inputs
from rondel.sessions.labels import CODE, debugging, labels_of, without_code
from rondel.sessions.permissions import Permissions
from rondel.sessions.quarantine import Quarantine, surest
from rondel.sessions.records import Result
from rondel.sessions.session import Session
from rondel.sessions.status_cache import StatusCache
from rondel.sessions.stores import DEFAULT, Database, Durability, open_store
from rondel.sessions.stream import Audience

log = logging.getLogger("rondel.sessions")

LEASE = 8.0
"""Seconds after which a session is free again whose process is gone; to look for it takes two."""

POLL = 0.2
"""Seconds between looks for what other processes wrote."""


class _Bound(NamedTuple):
    binding: Binding
    labels: dict[str, Any]


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
        max_attachment: int = LARGEST,
    ) -> None:
        self.store: Store = open_store(db, durability)
        self._in_memory = isinstance(self.store, MemoryStore)
        self.attachments = Attachments(self.store, max_attachment)
        self._permissions = Permissions(allow_python, allow_commands)
        self._registry = registry
        self._middleware = tuple(middleware)
        self._owner = new_owner()
        self.status_cache = StatusCache()
        self._driven: dict[str, Session] = {}
        self._handles: WeakValueDictionary[str, Session] = WeakValueDictionary()
        self._graph_cache = GraphCache(registry)
        self.expectation = Expectation(self.store)
        self._bindings: WeakKeyDictionary[Graph, _Bound] = WeakKeyDictionary()
        self._poller: asyncio.Task[None] | None = None
        self._alarms = Alarms()
        self.clocks = Clocks(self.store)
        self._deadlines = DeadlineWatch(self.store, self._meet_deadline)
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

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
        session = await self._start(graph, inputs, debug, labels or {}, id)
        self._handles[session.id] = session
        return session

    async def run(self, graph: Graph | str | os.PathLike[str], inputs: Inputs = None) -> Result:
        """Start a session and wait until it is over or needs somebody outside to go on."""
        session = await self._start(graph, inputs)
        return await session.settled()

    async def _start(
        self,
        graph: Graph | str | os.PathLike[str],
        inputs: Inputs,
        debug: Sequence[str] = (),
        labels: Mapping[str, Any] = {},
        id: str = "",
    ) -> Session:
        if self._closed:
            raise Disconnected("the engine is closed; it starts nothing any more")
        given = as_inputs(inputs)
        graph = as_graph(graph)
        bound = self._bound(graph)
        if "attachments" in given:
            self.attachments.demand(attached_in(given))
        stored = graph.stored
        row = SessionRow(
            id=id or new_id(),
            graph_id=graph.id,
            document=stored.document,
            includes=stored.includes,
            inputs=given,
            labels={**labels, **bound.labels, **debugging(bound.binding.plan, debug)},
        )
        return await self._begin(row, graph, bound.binding)

    def get(self, id: str) -> Session:
        """The session of that id."""
        session = self._handles.get(id)
        if session is None:
            session = self._handles[id] = self._driven.get(id) or self._found(id)
        return session

    def _found(self, id: str) -> Session:
        row = self.store.session(id)
        if row is None:
            raise UnknownSession(f"there is no session {id!r}")
        return self._session(id, self, self._graph_cache.at_hand(row))

    async def resume(self, id: str, graph: Graph | None = None) -> Session:
        """Go on with a session.

        One whose graph was written in Python needs that graph again, and so does one whose keys
        stand in its file and not in the environment.
        """
        session = self.get(id)
        if graph is not None:
            session.use(graph)
            self._graph_cache.hand_over(id, session.graph)
        await session.resume()
        return session

    async def recover(self) -> list[Session]:
        """Go on with what a process which is gone left running; mind all deadlines from now on."""
        found = []
        for status in ("running", "pending"):
            before: str | None = None
            while True:
                page = self.store.sessions(status, before=before)
                found += [row for row in page.rows if self._is_abandoned(row)]
                before = page.next
                if before is None:
                    break
        if not self._in_memory:
            self._deadlines.start()
        return [await self.resume(row.id) for row in found]

    async def _meet_deadline(self, id: str) -> None:
        """A question has expired, whoever asked it; the session goes on if it can here."""
        row = await asyncio.to_thread(self.store.session, id)
        if row is not None and self.can_run(row):
            try:
                await self.get(id).wake()
            except RondelError as error:
                log.warning("session %s is due and cannot go on here: %s", id, error)

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
        binding = self.bind(fork.graph) if run else None
        row = SessionRow(
            id=new_id(),
            graph_id=session.row.graph_id,
            document=fork.graph.stored.document,
            includes=session.row.includes,
            inputs=fork.inputs,
            labels={**session.row.labels, **labels_of(fork.graph)},
            parent=session.id if fork.length else None,
            parent_length=fork.length,
        )
        if binding is None:
            return await self._lay_down(row, fork)
        child = self._handles[row.id] = await self._begin(row, fork.graph, binding, fork)
        if fork.answer is not None:
            await child.answer(fork.answer)
        return child

    async def attach(
        self,
        source: str | os.PathLike[str] | bytes,
        media_type: str | None = None,
        name: str | None = None,
    ) -> Part:
        """Keep a file, or bytes, for messages: start a session with it among its `attachments`."""
        return await self.attachments.add(source, media_type, name)

    async def load(self, part: Part) -> bytes:
        """The content of an attachment."""
        return await self.attachments.load(part)

    async def promote(
        self, id: str, address: str, confidence: float | None = None
    ) -> list[MemoryEntry]:
        """Put what a finished step emitted into the working memory of its session's group.

        `confidence` vouches for it in the place of its own `data.confidence`. A message that is
        not sure enough is left out; if that is all there is, it is refused.
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
        """Begin no further step; those under way have so many seconds to end."""
        drives = [session.drive for session in self._driven.values()]
        ends = [asyncio.ensure_future(drive.drain()) for drive in drives if drive is not None]
        if ends:
            _, late = await asyncio.wait(ends, timeout=grace)
            for end in late:
                end.cancel()

    async def close(self) -> None:
        """Let go of every session; each goes on where it is when somebody resumes it."""
        self._closed = True
        self._deadlines.close()
        if self._poller is not None:
            self._poller.cancel()
            self._poller = None
        for session in self._held():
            await session.close()
        self._alarms.close()
        self.store.close()

    # What sessions ask of their engine

    def bind(self, graph: Graph) -> Binding:
        """The graph with its working parts; built once for each graph."""
        return self._bound(graph).binding

    def _bound(self, graph: Graph) -> _Bound:
        plan = graph.plan()
        bound = self._bindings.get(graph)
        if bound is None or bound.binding.plan is not plan:
            self._permissions.demand(plan)
            memory = WorkingMemory(self.store, plan.spec.memory)
            guard = MemoryGuard(promoted_nodes(plan), memory)
            serving = (self._registry or graph.registry).serving(
                memory=memory, attachments=self.attachments, **self._permissions.services
            )
            binding = graph.bind(serving, (guard, *self._middleware))
            bound = self._bindings[graph] = _Bound(binding, labels_of(graph))
        return bound

    def graph_of(self, row: SessionRow) -> Graph:
        """The copy of its graph that a session keeps."""
        if row.labels.get("python") and not self._graph_cache.is_handed_over(row.id):
            raise CallError(
                f"session {row.id} runs a graph written in Python; hand it over again: "
                "engine.resume(id, graph)"
            )
        try:
            return self._graph_cache.graph(row)
        except GraphError as error:
            if not (missing := self._missing_secrets(row)):
                raise (without_code(row, error) or error) from None
            names = " and ".join(missing)
            raise CallError(
                f"session {row.id} needs {names}, which is never stored: set it in the "
                "environment, or hand over the graph's file again"
            ) from error

    def outline_of(self, row: SessionRow) -> Graph:
        """The structure of a session's graph: enough to read the session, not to run it."""
        return self._graph_cache.outline(row)

    def driver_of(self, id: str) -> str | None:
        """The other living process that drives the session, in words, or None."""
        lease = self.store.lease(id)
        if lease is None or lease.owner == self._owner or is_gone(lease.owner):
            return None
        return process_of(lease.owner)

    @property
    def under_way(self) -> int:
        """How many sessions this process drives."""
        return len(self._driven)

    def is_driven_elsewhere(self, id: str) -> bool:
        """Whether another living process drives the session."""
        return self.driver_of(id) is not None

    def take(self, session: Session) -> None:
        """Become the one who drives the session."""
        lease = self.store.acquire(session.id, self._owner, LEASE)
        if not lease.granted and is_gone(lease.owner):
            self.store.release(session.id, lease.owner)
            lease = self.store.acquire(session.id, self._owner, LEASE)
        if not lease.granted:
            owner = process_of(lease.owner)
            raise SessionBusy(f"another process drives session {session.id}: {owner}")
        self._hold(session)

    def _hold(self, session: Session) -> None:
        self._driven[session.id] = session
        self.watch()

    def let_go(self, session: Session, *, ended: bool = False) -> None:
        """Nobody here drives the session any more, because it has ended or waits."""
        if self._driven.pop(session.id, None) is None:
            return
        if ended:
            self.expectation.ended(session.graph)
        self._handles[session.id] = session  # it may be asked for again while somebody holds it
        try:
            self.store.release(session.id, self._owner)
        except JournalError:
            return  # the lease ends with this process, at the latest

    def drive(self, session: Session, binding: Binding, heard: Audience, *, is_new: bool) -> Drive:
        """The session's state, ready to go on in the hands of this engine."""
        if is_new and self._in_memory:
            self._hold(session)  # it was leased as it was created, just now
        else:
            self.take(session)
        try:
            return Drive(
                session.id,
                self.store,
                binding,
                heard,
                circuit_breaker(binding.plan),
                self._alarms,
                self.clocks,
                is_new=is_new,
                snapshots=not self._in_memory,
            )
        except BaseException:
            self.let_go(session)
            raise

    def watch(self) -> None:
        """Look after leases, letters and what other processes write, while anybody cares."""
        if not self._in_memory and (self._poller is None or self._poller.done()):
            self._poller = asyncio.get_running_loop().create_task(self._poll())

    def has_letters(self, id: str) -> bool:
        """Whether another process has asked for something that nobody has read."""
        return not self._in_memory and bool(self.store.pending([id]))

    async def post(self, id: str, control: AnyControl) -> int:
        """Leave a control for the process that drives the session; the number names the letter."""
        await finish(self.store.ready())
        return self.store.post(id, to_letter(control))

    # Inside

    def _is_abandoned(self, row: SessionRow) -> bool:
        here = row.id in self._driven
        return not here and self.can_run(row) and not self.is_driven_elsewhere(row.id)

    def can_run(self, row: SessionRow) -> bool:
        """Whether all is here that the store does not keep."""
        labels, code = row.labels, "python" if self._registry is not None else CODE
        if not self._permissions.cover(labels):
            return False
        known = not (labels.get("python") or labels.get(code) or self._missing_secrets(row))
        return known or self._graph_cache.is_handed_over(row.id)

    def _missing_secrets(self, row: SessionRow) -> list[str]:
        names = row.labels.get("secrets", ())
        known = self._graph_cache.secrets_of(row.id)
        return [name for name in names if name not in known and name not in os.environ]

    async def _begin(
        self, row: SessionRow, graph: Graph, binding: Binding, fork: Fork | None = None
    ) -> Session:
        await finish(self.store.create(row, self._owner, LEASE))
        self._graph_cache.keep(row.id, graph)
        session = self._session(row.id, self, graph)
        if row.parent is None:
            await session.begin(binding, row, self.expectation.of(graph, binding.plan))
        else:
            self._handles[row.id] = session
            await self._mark_fork(row.id, row.parent)
            if fork is not None and fork.output is not None:
                await session.speak_for(*fork.output)
            await session.resume()
        return session

    async def _mark_fork(self, id: str, parent: str) -> None:
        """What the parent spent before this is not the fork's."""
        await finish(self.store.append(id, ticks.Forked(self.store.now(), parent)))

    async def _lay_down(self, row: SessionRow, fork: Fork) -> Session:
        """A fork that nobody drives yet."""
        await finish(self.store.create(row))
        self._graph_cache.keep(row.id, fork.graph)
        session = self._handles[row.id] = self._session(row.id, self, fork.graph)
        if row.parent is not None:
            await self._mark_fork(row.id, row.parent)
        if fork.answer is not None:
            await session.control(Answer(text=fork.answer), run=False)
        elif fork.output is not None:
            session.park(await session.speak_for(*fork.output))
        elif row.parent is not None:
            state = fold(self.store, row.id, session.plan).state
            due = due_at(state, self.store.now())
            await finish(self.store.set_status(row.id, state.status, state.reason, due))
        return session

    async def _poll(self) -> None:
        seen, renewed = self.store.changes(), 0.0
        clock = asyncio.get_running_loop().time
        while self._handles or self._driven:
            await asyncio.sleep(POLL)
            with suppress(JournalError):  # whoever drives a session meets it too, and tells
                if clock() - renewed > LEASE / 3:
                    renewed = clock()
                    await finish(self.store.ready())
                    for driven in list(self._driven):
                        self.store.renew(driven, self._owner, LEASE)
                now = self.store.changes()
                if now != seen:
                    seen = now
                    await self._notice()

    async def _notice(self) -> None:
        letters = self.store.pending(self._driven)
        for session in self._held():
            await session.notice(letters=session.id in letters)

    def _held(self) -> list[Session]:
        """The sessions that somebody here holds, or that are under way here."""
        return list(dict.fromkeys((*self._handles.values(), *self._driven.values())))
