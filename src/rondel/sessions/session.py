"""One durable run of one graph, as everyone outside holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rondel.engine import ticks
from rondel.engine.core.state import ENDED, SessionState
from rondel.engine.emit import Emit
from rondel.engine.shell.binding import Binding
from rondel.errors import CallError, Disconnected, SessionBusy, UnknownSession
from rondel.graph.plan import Plan
from rondel.journal.store import Group, SessionRow, finish
from rondel.journal.working_memory import group_of
from rondel.sessions.controls import Answer, AnyControl, Pause, Resume, Signal, Stop, Unlock
from rondel.sessions.delivery import Delivered, Delivery
from rondel.sessions.drive import Drive, fold
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator
from rondel.sessions.expectation import Expected
from rondel.sessions.past import Past
from rondel.sessions.quarantine import Quarantine, QuarantineEntry
from rondel.sessions.records import (
    CallRecord,
    Ledger,
    QuestionRecord,
    Result,
    RoundRecord,
    StepRecord,
    result_of,
)
from rondel.sessions.status_cache import Rest, is_final
from rondel.sessions.stream import BATCH, Audience, Listener, Watcher

if TYPE_CHECKING:
    from rondel.sessions.engine import Engine
    from rondel.sessions.graph import Graph


LONGEST_SLEEP = 3600.0
"""Seconds after which a deadline far away is looked at again: clocks are set."""


class Session:
    """A session: its state, its events, its past, and its controls.

    While nothing is under way in it, it holds no task and none of its state: that is in the store.
    A control returns when it is in the journal, whichever process drives the session. It raises
    WrongState if the session's state does not take it, and CallError if the call is wrong.
    Repeated, it changes nothing.
    """

    __slots__ = (
        "__weakref__",
        "_alarm",
        "_audience",
        "_closed",
        "_controls",
        "_drive",
        "_engine",
        "_error",
        "_graph",
        "_plan",
        "_reached",
        "_result",
        "_waking",
        "id",
    )

    def __init__(self, id: str, engine: Engine, graph: Graph | None = None) -> None:
        self.id = id
        self._engine = engine
        self._graph = graph
        self._plan: Plan | None = None
        self._drive: Drive | None = None
        self._audience = Audience()
        self._closed = False
        self._controls = 0
        """How many controls are being recorded: the session is not let go of meanwhile."""
        self._error: BaseException | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._waking: asyncio.Task[None] | None = None
        self._reached = 0
        """How many ticks it had when it last came to rest here."""
        self._result: Result | None = None
        """What became of it, once it is over for good and that is known here."""

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.status}>"

    # State

    @property
    def status(self) -> str:
        """One of the states of a session."""
        if self._result is not None:
            return self._result.status
        return self._drive.state.status if self._drive is not None else self.row.status

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good; one that a step's failure ended can be resumed."""
        return self._result is not None or self._rest().final

    @property
    def row(self) -> SessionRow:
        """What the store knows of the session."""
        row = self._engine.store.session(self.id)
        if row is None:
            raise UnknownSession(f"there is no session {self.id!r}")
        return row

    @property
    def graph(self) -> Graph:
        """The session's own copy of its graph."""
        if self._graph is None:
            self._graph = self._engine.graph_of(self.row)
        return self._graph

    @property
    def plan(self) -> Plan:
        """What its ticks are folded with; reading a session takes none of its functions."""
        if self._plan is None:
            known = self._graph
            self._plan = (self._engine.outline_of(self.row) if known is None else known).plan()
        return self._plan

    @property
    def questions(self) -> dict[str, str]:
        """The open questions, oldest first: the asking node's id and what it asks."""
        return {question.node_id: question.description for question in self.asking}

    @property
    def asking(self) -> list[QuestionRecord]:
        """The open questions with all there is to them, oldest first."""
        return [] if self._result is not None else self._rest().asking

    async def result(self) -> Result:
        """Wait until the session is over, and say what became of it."""
        self._engine.watch()
        while self.status not in ENDED:
            self.check_alive()
            await self._audience.next_turn()
        return self.snapshot()

    async def settled(self) -> Result:
        """Wait until the session is over or needs somebody outside to go on."""
        drive = self._drive
        while self._drive is not None:
            drive = self._drive
            self.check_alive()
            await self._audience.next_turn()
        if self._result is None:
            self.check_alive()
            if drive is not None and drive.length == self._reached:
                return result_of(self.id, drive.state)
        return self.snapshot()

    def snapshot(self) -> Result:
        """What the session has come to so far."""
        return self._rest().result if self._result is None else self._result

    def events(self, after: int = 0, *, debug: bool = False) -> AsyncIterator[Event]:
        """Every durable event after number `after`, live ones from now on, until the end."""
        self._engine.watch()
        watcher = Watcher(
            Narrator(self.id, self.plan, debug),
            lambda start: self._engine.store.read(self.id, start, start + BATCH),
            self._audience,
            after,
            self.check_alive,
        )
        self._audience.join(watcher)
        return watcher.events()

    def listen(self, listener: Listener) -> None:
        """Say to this one too, as long as somebody holds it, what nobody records."""
        self._audience.join(listener)

    def steps(self, last: int | None = None) -> list[StepRecord]:
        """Every step with what it saw and produced, in logical order; or the last so many."""
        return self.past.steps(last)

    def rounds(self, last: int | None = None) -> list[RoundRecord]:
        """Every round of every loop, with its score, cost and duration; or the last so many."""
        return self.past.rounds(last)

    @property
    def group(self) -> Group:
        """Whose working memory it shares: that of the group its inputs name, or its own."""
        first = self._engine.store.read(self.id, 0, 1)
        started = first[0] if first else None
        inputs = started.inputs if isinstance(started, ticks.Started) else self.row.inputs
        return group_of(self.id, inputs)

    def quarantine(self) -> list[QuarantineEntry]:
        """All that its nodes emitted, in logical order, its shared past included."""
        return Quarantine(self.plan, self.journal()).entries()

    def ledger(self) -> list[CallRecord]:
        """Every model call of this session, a row each; its usage is the sum of these rows."""
        return Ledger(self.id, self.plan).rows(self.past.ticks(), self.row.parent_length)

    @property
    def past(self) -> Past:
        """What happened, to be read in parts; for sessions of any length."""
        return Past(self._engine.store, self.id, self.plan)

    def journal(self) -> Sequence[ticks.AnyTick]:
        """Everything that happened, as it was recorded."""
        return self._engine.store.read(self.id, 0)

    # Controls

    async def answer(self, text: Any, node: str | None = None, by: str = "") -> None:
        """Answer the oldest open question, or that of a node.

        Of several answers to one question the first counts; the others raise WrongState.
        """
        await self.control(Answer(by, text, node))

    async def pause(self, by: str = "") -> None:
        """Start no further step; steps under way finish."""
        await self.control(Pause(by))

    async def resume(self, by: str = "", *, free: bool = False) -> None:
        """Go on after a pause, a failed step, or the end of the process that drove the session.

        A step that failed runs again. A session that is over in any other way stays as it is.
        One that pauses after each round goes on for one, or with `free` without further stops.
        Raises SessionBusy if another process drives the session.
        """
        await self.control(Resume(by, free))

    async def stop(self, by: str = "") -> None:
        """End the session; steps under way are cancelled."""
        await self.control(Stop(by))

    async def signal(self, name: str, data: Any = None, by: str = "") -> None:
        """Tell the session something that later steps can read (`ctx.signals`)."""
        await self.control(Signal(by, name, data))

    async def unlock(
        self, risk_justification: str = "", safety_checks: Sequence[bool] = (), by: str = ""
    ) -> None:
        """Open a lock: with a justification, or with exactly three checks made."""
        await self.control(Unlock(by, risk_justification, list(safety_checks)))

    async def fork(self, at: str | None = None, changes: dict[str, Any] | None = None) -> Session:
        """A new session that shares this one's past up to an address, with changes by path.

        `inputs.KEY`, `nodes.ID.config.KEY`, `loops.HEAD.KEY`, `limits.KEY` and `breaker.KEY` are
        what they are in a file; `answer` is another answer to the question asked there, `output`
        what the step there says instead: a text, or `{"content": ..., "data": ...}`. Without an
        address the fork begins where the changes first make a difference. Raises CallError or
        GraphError for what cannot be.
        """
        return await self._engine.fork(self, at, changes or {})

    async def control(
        self, control: AnyControl, *, run: bool = True, patience: float | None = None
    ) -> Delivered:
        """Have any control carried out, here or by the process that drives the session.

        Returns when it is in the journal. Raises WrongState or CallError if it is refused, by
        whomever. Without `run` it is only recorded, and whoever resumes the session acts on it.
        After `patience` seconds it is left with a process that does not reply. A `Resume` is left
        for nobody: it raises SessionBusy where another process drives the session.
        """
        if isinstance(control, Resume):
            self._error = None
            if self._drive is not None and self._drive.state.ended:
                await self.settled()  # it is taken up anew, with nothing left of how it ended
            if self._drive is None and self.status in ENDED and self.is_over:
                return Delivered(changed=False)
        self.check_alive()
        return await Delivery(self._engine, self, patience).deliver(control, run=run)

    def use(self, graph: Graph) -> None:
        """Take over again what the store does not keep: a graph's functions and its keys.

        A graph of another structure is refused.
        """
        row = self.row
        if not graph.has_structure_of(row.document):
            raise CallError(
                f"this graph is not the one of session {self.id}: its structure differs"
            )
        same = graph.stored.document == row.document and graph.stored.includes == row.includes
        self._graph = graph if same else graph.with_stored(row.document, row.includes)
        self._plan = None

    # The engine's side

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
        """Do here what is due: begin, go on after the last driver, read letters, mind deadlines."""
        self.check_alive()
        self._controls += 1
        try:
            is_open = self._drive is not None
            drive = await self._take_up()
            if is_open:
                await drive.read_letters()
            if drive.state.status == "pending":
                await self._start(drive)
        finally:
            self._controls -= 1
        self._keep_driving(drive)

    async def _start(self, drive: Drive) -> None:
        begun = drive.begin(self.row, self._engine.expectation.of(self.graph, self.plan))
        if begun is not None:
            await begun

    async def begin(self, binding: Binding, row: SessionRow, expected: Expected) -> None:
        """Start; the first step runs as soon as the event loop gets to it."""
        drive = self._drive = self._engine.drive(self, binding, self._audience, is_new=True)
        begun = drive.begin(row, expected)
        if begun is not None:
            await begun
        self._keep_driving(drive)

    async def speak_for(self, address: str, outcome: Emit) -> Drive:
        """Record what a step that is under way comes to, without running its node."""
        drive = self._open()
        await drive.speak_for(address, outcome)
        return drive

    @property
    def drive(self) -> Drive | None:
        """The session as this process drives it, if it does."""
        return self._drive

    async def notice(self, *, letters: bool) -> None:
        """Another process wrote to the store: it may be about this session."""
        if letters and self._drive is not None:
            drive = self._drive
            self._controls += 1
            try:
                await drive.read_letters()
            finally:
                self._controls -= 1
                self._keep_driving(drive)
        self._audience.turn()

    async def close(self) -> None:
        """Let go of the session; it is not over, only nobody drives it here any more."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        if self._waking is not None:
            self._waking.cancel()
        drive, self._drive = self._drive, None
        if drive is not None:
            await drive.close()
            self._come_to_rest(drive)
        self._audience.turn()

    def _open(self) -> Drive:
        if self._drive is None:
            binding = self._engine.bind(self.graph)
            self._drive = self._engine.drive(self, binding, self._audience, is_new=False)
        return self._drive

    async def _take_up(self) -> Drive:
        """The session in this process's hands, with the letters its last driver left unread."""
        opened = self._drive is None
        if opened:
            await finish(self._engine.store.ready())
        drive = self._open()
        if opened:
            if drive.state.status == "running":
                await drive.carry_out(Resume())  # nobody ran it until now
            await drive.expire()
            await drive.read_letters()
        return drive

    def _keep_driving(self, drive: Drive) -> None:
        if self._drive is drive:  # else it was closed meanwhile
            drive.go_on(self)
        self._audience.turn()

    def mind_deadline(self, state: SessionState) -> None:
        """Be there when the first open question expires."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        deadline = state.next_deadline if state.questions else None
        if deadline is not None and not self._closed:
            now = self._engine.clocks.of(self.id, state)()
            wait = min(max(deadline - now, 0.0) + 0.001, LONGEST_SLEEP)
            self._alarm = asyncio.get_running_loop().call_later(wait, self._wake_up)

    def _wake_up(self) -> None:
        self._alarm = None
        if not self._closed:
            self._waking = asyncio.get_running_loop().create_task(self.wake())

    async def wake(self) -> None:
        """A deadline has passed, or a letter lies there: whoever drives the session sees to it."""
        if self._drive is None and self._engine.is_driven_elsewhere(self.id):
            return
        with suppress(SessionBusy):
            await self.attend()
            if self._drive is not None:
                await self._drive.expire()

    def park(self, drive: Drive) -> None:
        """Nothing is under way any more: give everything back but the id."""
        if self._drive is drive and not drive.driving and not self._controls:
            try:
                drive.raise_if_broken()
            except BaseException as error:  # whoever waits for the session gets it
                self._error = error
            self._drive = None
            self._come_to_rest(drive)
            self.mind_deadline(drive.state)
            if self._error is None and self._engine.has_letters(self.id):
                self._wake_up()
        self._audience.turn()

    def _come_to_rest(self, drive: Drive) -> None:
        self._reached = drive.length
        if is_final(drive.state):
            self._result = result_of(self.id, drive.state)
        self._engine.let_go(self, ended=drive.state.ended)

    def _rest(self) -> Rest:
        """What a glance at a session shows that is not known to be over: live, or folded."""
        if self._drive is not None:
            return Rest.of(self.id, self._drive.state, self._drive.length)
        status_cache = self._engine.status_cache
        rest = status_cache.recall(self.id, self.row.length)
        if rest is None:
            rest = Rest.of(self.id, *fold(self._engine.store, self.id, self.plan))
            if rest.final:
                self._result = rest.result
            else:
                status_cache.keep(self.id, rest)
        return rest

    def check_alive(self) -> None:
        """Raise what keeps the session from being driven here, if something does."""
        if self._closed:
            raise Disconnected(f"the engine of session {self.id} is closed")
        if self._error is not None:
            raise self._error


def _is_done(control: AnyControl, drive: Drive) -> bool:
    """Whether there is nothing to resume: it runs here, or ended just before its process did."""
    if not isinstance(control, Resume):
        return False
    state = drive.state
    running = drive.driving and state.status == "running" and (state.free or not control.free)
    return running or (drive.was_stale and state.ended)
