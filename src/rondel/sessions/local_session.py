"""A session as one process has it: driven here, or at rest in the store."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rondel.engine.core.state import ENDED, SessionState
from rondel.engine.emit import Emit
from rondel.engine.shell.binding import Binding
from rondel.errors import CallError, Disconnected, JournalError, SessionBusy, UnknownSession
from rondel.graph.plan import Plan
from rondel.journal.store import SessionRow, finish
from rondel.sessions.controls import AnyControl, Resume
from rondel.sessions.drive import Drive, fold
from rondel.sessions.graph import Graph
from rondel.sessions.records import QuestionRecord, Result, questions_of, result_of
from rondel.sessions.stream import Audience

if TYPE_CHECKING:
    from rondel.sessions.local_sessions import LocalSessions

LONGEST_SLEEP = 3600.0
"""Seconds after which a deadline far away is looked at again: clocks are set."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """The result and the open questions of a session after `length` ticks."""

    result: Result
    questions: list[QuestionRecord]
    length: int
    final: bool
    """Whether it is over for good."""


class LocalSession:
    """The session behind a `Session`: opens it, goes on with it, and gives it up.

    While nothing is under way in it, it holds no task and none of its state: that is in the store.
    """

    __slots__ = (
        "__weakref__",
        "_alarm",
        "_closed",
        "_controls",
        "_error",
        "_graph",
        "_origin",
        "_plan",
        "_reached",
        "_waking",
        "audience",
        "drive",
        "final",
        "id",
        "sessions",
        "store",
    )

    def __init__(
        self,
        id: str,
        sessions: LocalSessions,
        graph: Graph | None = None,
        row: SessionRow | None = None,
    ) -> None:
        self.id = id
        self.sessions = sessions
        self.store = sessions.store
        self.audience = Audience()
        self.drive: Drive | None = None
        """The session as this process drives it, if it does."""
        self.final: Result | None = None
        """Its result, once it is over for good and this process knows that."""
        self._graph = graph
        self._origin = row
        self._plan: Plan | None = None
        self._closed = False
        self._controls = 0
        """How many controls are being recorded: the session is not parked meanwhile."""
        self._error: BaseException | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._waking: asyncio.Task[None] | None = None
        self._reached = 0
        """How many ticks it had when it last came to rest here."""

    # State

    @property
    def status(self) -> str:
        """One of the states of a session."""
        if self.final is not None:
            return self.final.status
        return self.drive.state.status if self.drive is not None else self.row.status

    @property
    def row(self) -> SessionRow:
        """What the store knows of the session."""
        row = self.store.session(self.id)
        if row is None:
            raise UnknownSession(f"there is no session {self.id!r}")
        return row

    @property
    def origin(self) -> SessionRow:
        """Its row as it was first read: for the fields that never change."""
        if self._origin is None:
            self._origin = self.row
        return self._origin

    @property
    def graph(self) -> Graph:
        """The session's own copy of its graph."""
        if self._graph is None:
            self._graph = self.sessions.graphs.graph(self.origin)
        return self._graph

    @property
    def plan(self) -> Plan:
        """The compiled graph; to read a session, none of its functions are needed."""
        if self._plan is None:
            graph = self._graph or self.sessions.graphs.outline(self.origin)
            self._plan = graph.plan()
        return self._plan

    def use(self, graph: Graph) -> None:
        """Take over what the store does not keep; a graph of another structure is refused."""
        row = self.origin
        if not graph.has_structure_of(row.document):
            raise CallError(
                f"this graph is not the one of session {self.id}: its structure differs"
            )
        same = graph.stored.document == row.document and graph.stored.includes == row.includes
        self._graph = graph if same else graph.with_stored(row.document, row.includes)
        self._plan = None

    def summary(self) -> SessionSummary:
        """The session's summary: as it is driven here, or as its journal has it."""
        if self.drive is not None:
            return self._summary_of(self.drive.state, self.drive.length)
        known = self.sessions.summaries.get(self.id)
        if known is None or known.length != self.row.length:
            known = self._summary_of(*fold(self.store, self.id, self.plan))
            if known.final:
                self.final = known.result
            else:
                self.sessions.summaries[self.id] = known
        return known

    def _summary_of(self, state: SessionState, length: int) -> SessionSummary:
        result, questions = result_of(self.id, state), questions_of(state)
        return SessionSummary(result, questions, length, _is_final(state))

    def result(self) -> Result:
        """What the session has come to so far."""
        return self.summary().result if self.final is None else self.final

    async def ended(self) -> Result:
        """Wait until the session is over."""
        self.sessions.watch()
        while self.status not in ENDED:
            self.check_alive()
            await self.audience.next_turn()
        return self.result()

    async def settled(self) -> Result:
        """Wait until the session is over or needs somebody outside to go on."""
        drive = self.drive
        while self.drive is not None:
            drive = self.drive
            self.check_alive()
            await self.audience.next_turn()
        if self.final is None:
            self.check_alive()
            if drive is not None and drive.length == self._reached:
                return result_of(self.id, drive.state)
        return self.result()

    def check_alive(self) -> None:
        """Raise what keeps the session from being driven here, if something does."""
        if self._closed:
            raise Disconnected(f"the engine of session {self.id} is closed")
        if self._error is not None:
            raise self._error

    # Going on with it

    async def begin(self, binding: Binding, row: SessionRow) -> None:
        """Start; the first step runs as soon as the event loop gets to it."""
        drive = self.drive = self.sessions.open(self, binding, is_new=True)
        begun = drive.begin(row, self.sessions.expectation.of(self.graph, binding.plan))
        if begun is not None:
            await begun
        self._keep_driving(drive)

    async def carry_out(self, control: AnyControl) -> bool:
        """Do it here and go on; False if there was nothing to do, SessionBusy if others drive."""
        self._controls += 1
        try:
            drive = await self._take_up()
        except BaseException:
            self._controls -= 1
            raise
        try:
            if isinstance(control, Resume) and drive.state.status == "pending":
                await self._start(drive)
                return True
            return not _is_done(control, drive) and await drive.carry_out(control)
        finally:
            self._controls -= 1
            self._keep_driving(drive)

    async def attend(self) -> None:
        """Do here what is due: begin, go on after the last driver, read letters, expire."""
        if isinstance(self._error, JournalError):
            self._error = None  # another process had it, or the disk was full: it is tried anew
        self.check_alive()
        self._controls += 1
        try:
            is_open = self.drive is not None
            drive = await self._take_up()
            if is_open:
                await drive.read_letters()
            if drive.state.status == "pending":
                await self._start(drive)
        finally:
            self._controls -= 1
        self._keep_driving(drive)

    async def speak_for(self, address: str, outcome: Emit) -> Drive:
        """Record the outcome of a step that is under way, without running its node."""
        drive = self._open()
        await drive.speak_for(address, outcome)
        return drive

    async def is_over_for_good(self) -> bool:
        """Whether there is nothing left to resume; what failed here before is forgotten."""
        self._error = None
        if self.drive is not None and self.drive.state.ended:
            await self.settled()  # it is taken up anew, with nothing left of how it ended
        over = self.drive is None and self.status in ENDED
        return over and (self.final is not None or self.summary().final)

    async def notice(self, *, letters: bool) -> None:
        """Another process wrote to the store: it may be about this session."""
        if letters and self.drive is not None:
            drive = self.drive
            self._controls += 1
            try:
                await drive.read_letters()
            finally:
                self._controls -= 1
                self._keep_driving(drive)
        self.audience.turn()

    async def wake(self) -> None:
        """A deadline has passed or a letter waits: act on it, unless another process drives."""
        if self.drive is None and self.sessions.driver_of(self.id) is not None:
            return
        with suppress(SessionBusy):
            await self.attend()
            if self.drive is not None:
                await self.drive.expire()

    def mind_deadline(self, state: SessionState) -> None:
        """Set an alarm for the first open question that expires."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        deadline = state.next_deadline if state.questions else None
        if deadline is not None and not self._closed:
            now = self.sessions.clocks.clock_of(self.id, state)()
            wait = min(max(deadline - now, 0.0) + 0.001, LONGEST_SLEEP)
            self._alarm = asyncio.get_running_loop().call_later(wait, self._wake_up)
            self.sessions.remember(self)  # it goes on by itself: who asks for it gets this one

    def park(self, drive: Drive) -> None:
        """Nothing is under way any more: free everything but the id."""
        if self.drive is drive and not drive.driving and not self._controls:
            try:
                drive.raise_if_broken()
            except BaseException as error:  # whoever waits for the session gets it
                self._error = error
            self.drive = None
            self._come_to_rest(drive)
            self.mind_deadline(drive.state)
            if self._error is None and self.sessions.has_letters(self.id):
                self._wake_up()
        self.audience.turn()

    async def close(self) -> None:
        """Let go of the session; it is not over, only nobody drives it here any more."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        if self._waking is not None:
            self._waking.cancel()
        drive, self.drive = self.drive, None
        if drive is not None:
            await drive.close()
            self._come_to_rest(drive)
        self.audience.turn()

    async def _start(self, drive: Drive) -> None:
        begun = drive.begin(self.origin, self.sessions.expectation.of(self.graph, self.plan))
        if begun is not None:
            await begun

    def _open(self) -> Drive:
        if self.drive is None:
            graphs, row, graph = self.sessions.graphs, self.origin, self.graph
            binding = graphs.bind(graph)
            graphs.check_code(row, graph)
            self.drive = self.sessions.open(self, binding, is_new=False)
        return self.drive

    async def _take_up(self) -> Drive:
        """Take the lease if need be, and carry out the letters that the last driver left unread."""
        opened = self.drive is None
        if opened:
            await finish(self.store.ready())
        drive = self._open()
        if opened:
            try:
                await self._catch_up(drive)
            except BaseException:
                self.drive = None
                self._come_to_rest(drive)
                raise
        return drive

    async def _catch_up(self, drive: Drive) -> None:
        if drive.state.status == "running":
            await drive.carry_out(Resume())  # nobody ran it until now
        await drive.expire()
        await drive.read_letters()

    def _keep_driving(self, drive: Drive) -> None:
        if self.drive is drive:  # else it was closed meanwhile
            drive.go_on(self.park)
        self.audience.turn()

    def _come_to_rest(self, drive: Drive) -> None:
        self._reached = drive.length
        self.audience.dismiss(broken=self._error is not None)
        self._origin = None
        if _is_final(drive.state):
            self.final = result_of(self.id, drive.state)
        self.sessions.release(self, ended=drive.state.ended)

    def _wake_up(self) -> None:
        self._alarm = None
        if not self._closed:
            self._waking = asyncio.get_running_loop().create_task(self.wake())
            self.sessions.remember(self)


def _is_final(state: SessionState) -> bool:
    """Whether the session is over and nothing can make it go on."""
    return state.ended and state.failure is None


def _is_done(control: AnyControl, drive: Drive) -> bool:
    """Whether there is nothing to resume: it runs here, or ended just before its process did."""
    if not isinstance(control, Resume):
        return False
    state = drive.state
    running = drive.driving and state.status == "running" and (state.free or not control.free)
    return running or (drive.was_stale and state.ended)
