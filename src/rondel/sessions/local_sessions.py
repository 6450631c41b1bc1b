"""The sessions that one engine has in use or drives."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from weakref import WeakValueDictionary

from cachetools import LRUCache

from rondel.engine.shell.alarms import Alarms
from rondel.engine.shell.binding import Binding
from rondel.errors import JournalError, LeaseLost, RondelError, SessionBusy, UnknownSession
from rondel.guards.circuit_breaker import circuit_breaker
from rondel.journal.clock import elapsed
from rondel.journal.memory import MemoryStore
from rondel.journal.store import Lease, SessionRow, Store, finish
from rondel.sessions.deadlines import DeadlineWatch
from rondel.sessions.drive import Drive
from rondel.sessions.expectation import Expectation
from rondel.sessions.graph import Graph
from rondel.sessions.graph_cache import GraphCache
from rondel.sessions.lease import Clocks, DrivenLease, is_gone, new_owner, process_of
from rondel.sessions.local_session import LocalSession, SessionSummary
from rondel.sessions.traces import Traces

log = logging.getLogger("rondel.sessions")

LEASE = 7.0
"""Seconds after which a session is free again whose process is gone.

Within ten seconds another process is to go on with it: to look for it and to open it takes time.
"""

SUMMARIES = 64
"""How many summaries are kept; other sessions are read again."""
POLL = 0.2
"""Seconds between looks for what other processes wrote."""


class LocalSessions:
    """Owns the sessions of one engine: those that it drives, their leases and letters."""

    def __init__(self, store: Store, graphs: GraphCache, traces: Traces | None = None) -> None:
        self.store = store
        self.graphs = graphs
        self._traces = traces
        self.expectation = Expectation(store)
        self.clocks = Clocks(store)
        self.summaries: LRUCache[str, SessionSummary] = LRUCache(SUMMARIES)
        """Of sessions at rest that were asked for last."""
        self.driven: dict[str, LocalSession] = {}
        self._known: WeakValueDictionary[str, LocalSession] = WeakValueDictionary()
        self._owner = new_owner()
        self._in_memory = isinstance(store, MemoryStore)
        self._alarms = Alarms()
        self._poller: asyncio.Task[None] | None = None
        self._deadlines = DeadlineWatch(store, self._meet_deadline)

    def get(self, id: str) -> LocalSession:
        """The session of that id; UnknownSession if there is none."""
        local = self._known.get(id)
        if local is None:
            local = self._known[id] = self.driven.get(id) or self._found(id)
        return local

    def _found(self, id: str) -> LocalSession:
        row = self.store.session(id)
        if row is None:
            raise UnknownSession(f"there is no session {id!r}")
        return LocalSession(id, self, self.graphs.at_hand(row), row)

    async def create(self, row: SessionRow, graph: Graph, *, to_drive: bool) -> LocalSession:
        """A new session, which this process is going to drive or leaves to others."""
        owner = self._owner if to_drive else None
        await finish(self.store.create(row, owner, LEASE if to_drive else 0.0))
        self.graphs.keep(row.id, graph)
        return LocalSession(row.id, self, graph)

    def remember(self, local: LocalSession) -> None:
        """Let `get` find the session as long as somebody has a reference to it."""
        self._known[local.id] = local

    # Who drives it

    def driver_of(self, id: str) -> str | None:
        """The other living process that drives the session, in words, or None."""
        lease = self.store.lease(id)
        if lease is None or lease.owner == self._owner or is_gone(lease.owner):
            return None
        return process_of(lease.owner)

    def is_abandoned(self, row: SessionRow) -> bool:
        """Whether nobody drives the session, and this process could."""
        here = row.id in self.driven
        return not here and self.graphs.can_run(row) and self.driver_of(row.id) is None

    def acquire(self, local: LocalSession) -> Lease:
        """Become the one who drives the session; SessionBusy if another process does."""
        lease = self.store.acquire(local.id, self._owner, LEASE)
        if not lease.granted and is_gone(lease.owner):
            self.store.release(local.id, lease.owner)
            lease = self.store.acquire(local.id, self._owner, LEASE)
        if not lease.granted:
            owner = process_of(lease.owner)
            raise SessionBusy(f"another process drives session {local.id}: {owner}")
        self._hold(local)
        return lease

    def _hold(self, local: LocalSession) -> None:
        self.driven[local.id] = local
        self.watch()

    def release(self, local: LocalSession, *, ended: bool = False) -> None:
        """Nobody here drives the session any more, because it has ended or waits."""
        if self.driven.pop(local.id, None) is None:
            return
        if self._traces is not None:
            self._traces.unfollow(local.id)
        if ended:
            self.expectation.ended(local.graph)
        try:
            self.store.release(local.id, self._owner)
        except JournalError:
            return  # the lease ends with this process, at the latest

    def open(self, local: LocalSession, binding: Binding, *, is_new: bool) -> Drive:
        """The session's state, ready to go on in the hands of this process."""
        lease: Lease | None = None
        driven_lease: DrivenLease | None = None
        if is_new and self._in_memory:
            self._hold(local)  # nobody else can have it
        else:
            asked = elapsed()
            lease = self.acquire(local)
            driven_lease = DrivenLease(self.store, local.id, self._owner, LEASE, asked)
        try:
            drive = Drive(
                local.id,
                self.store,
                binding,
                local.audience,
                circuit_breaker(binding.plan),
                self._alarms,
                self.clocks,
                lease=None if is_new else lease,
                driven_lease=driven_lease,
                snapshots=not self._in_memory,
            )
        except BaseException:
            self.release(local)
            raise
        if self._traces is not None:
            self._traces.follow(local, drive, binding.plan)
        return drive

    # What other processes write

    def has_letters(self, id: str) -> bool:
        """Whether another process has asked for something that nobody has read."""
        return not self._in_memory and bool(self.store.pending([id]))

    def watch(self) -> None:
        """Renew leases and look for letters and other writes, as long as any session is in use."""
        if not self._in_memory and (self._poller is None or self._poller.done()):
            self._poller = asyncio.get_running_loop().create_task(self._poll())

    def mind_deadlines(self) -> None:
        """Wake sessions at their deadlines from now on, whichever process noted them."""
        if not self._in_memory:
            self._deadlines.start()

    async def drain(self, grace: float) -> None:
        """Begin no further step; those under way have `grace` seconds to end."""
        drives = [local.drive for local in self.driven.values()]
        ends = [asyncio.ensure_future(drive.drain()) for drive in drives if drive is not None]
        if ends:
            _, late = await asyncio.wait(ends, timeout=grace)
            for end in late:
                end.cancel()

    async def close(self) -> None:
        """Let go of every session."""
        self._deadlines.close()
        if self._poller is not None:
            self._poller.cancel()
            self._poller = None
        for local in self._in_use():
            await local.close()
        self._alarms.close()
        if self._traces is not None:
            await self._traces.close()

    async def _meet_deadline(self, id: str) -> None:
        """A deadline has passed: the session goes on, if this process can drive it."""
        row = await asyncio.to_thread(self.store.session, id)
        if row is not None and self.graphs.can_run(row):
            try:
                await self.get(id).wake()
            except RondelError as error:
                log.warning("session %s is due and cannot go on here: %s", id, error)

    async def _poll(self) -> None:
        seen, renewed = self.store.changes(), 0.0
        clock = asyncio.get_running_loop().time
        while self._known or self.driven:
            await asyncio.sleep(POLL)
            with suppress(JournalError):  # whoever drives a session meets it too, and tells
                if clock() - renewed > LEASE / 3:
                    renewed = clock()
                    await finish(self.store.ready())
                    self._renew()
                now = self.store.changes()
                if now != seen:
                    seen = now
                    await self._notice()

    def _renew(self) -> None:
        for local in list(self.driven.values()):
            if local.drive is not None and local.drive.driven_lease is not None:
                with suppress(LeaseLost):  # its driver finds out before it begins anything
                    local.drive.driven_lease.renew()

    async def _notice(self) -> None:
        letters = self.store.pending(self.driven)
        for local in self._in_use():
            await local.notice(letters=local.id in letters)

    def _in_use(self) -> list[LocalSession]:
        """The sessions that somebody here uses, or that are under way here."""
        return list(dict.fromkeys((*self._known.values(), *self.driven.values())))
