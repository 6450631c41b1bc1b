"""The public handle of a session: one durable run of one graph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from rondel.engine import ticks
from rondel.graph.plan import Plan
from rondel.journal.store import Group, SessionRow
from rondel.journal.working_memory import group_of
from rondel.sessions.controls import Answer, AnyControl, Pause, Resume, Signal, Stop, Unlock
from rondel.sessions.delivery import ControlDelivery, Delivered
from rondel.sessions.drive import Drive
from rondel.sessions.event import Event
from rondel.sessions.graph import Graph
from rondel.sessions.local_session import LocalSession
from rondel.sessions.past import Past
from rondel.sessions.quarantine import Quarantine, QuarantineEntry
from rondel.sessions.records import (
    CallRecord,
    QuestionRecord,
    Result,
    RoundRecord,
    StepRecord,
    ledger_of,
)
from rondel.sessions.stream import Listener, Watcher

if TYPE_CHECKING:
    from rondel.sessions.engine import Engine


class Session:
    """A session: its state, its events, its past, and its controls.

    A control returns when it is in the journal, whichever process drives the session. It raises
    WrongState if the session's state does not take it, and CallError if the call is wrong.
    Repeated, it changes nothing.
    """

    __slots__ = ("__weakref__", "_engine", "_local", "id")

    def __init__(self, engine: Engine, local: LocalSession) -> None:
        self.id = local.id
        self._engine = engine
        self._local = local

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.status}>"

    # State

    @property
    def status(self) -> str:
        """One of the states of a session."""
        return self._local.status

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good; one that a step's failure ended can be resumed."""
        return self._local.final is not None or self._local.summary().final

    @property
    def row(self) -> SessionRow:
        """What the store knows of the session."""
        return self._local.row

    @property
    def origin(self) -> SessionRow:
        """What it was started with: `graph_id`, `inputs`, `labels`, `parent`; read only once."""
        return self._local.origin

    @property
    def graph(self) -> Graph:
        """The session's own copy of its graph."""
        return self._local.graph

    @property
    def plan(self) -> Plan:
        """The compiled graph; reading a session needs none of its functions."""
        return self._local.plan

    @property
    def drive(self) -> Drive | None:
        """The session as this process drives it, if it does."""
        return self._local.drive

    def questions(self) -> list[QuestionRecord]:
        """The open questions, oldest first: `node_id`, `description`, `actions`, `address`."""
        return self.asking

    @property
    def asking(self) -> list[QuestionRecord]:
        """The open questions as the engine has them, oldest first."""
        return [] if self._local.final is not None else self._local.summary().questions

    async def result(self) -> Result:
        """Wait until the session is over, and say what became of it."""
        return await self._local.ended()

    async def settled(self) -> Result:
        """Wait until the session is over or needs somebody outside to go on."""
        return await self._local.settled()

    def snapshot(self) -> Result:
        """The result so far."""
        return self._local.result()

    def events(self, after: int = 0, *, debug: bool = False) -> AsyncIterator[Event]:
        """Every durable event after number `after`, live ones from now on, until the end."""
        return self.watcher(after, debug=debug).events()

    def watcher(self, after: int = 0, *, debug: bool = False) -> Watcher:
        """A reader that hands out the same events in batches and never waits by itself."""
        local = self._local
        local.sessions.watch()
        return Watcher(local, after, debug=debug)

    def listen(self, listener: Listener) -> None:
        """Send live events to this listener for as long as it is referenced."""
        self._local.audience.join(listener)

    def steps(self, last: int | None = None) -> list[StepRecord]:
        """Every step with its inputs and outputs, in logical order; or the `last` ones."""
        return self.past.steps(last)

    def rounds(self, last: int | None = None) -> list[RoundRecord]:
        """Every round of every loop, with its score, cost and duration; or the `last` ones."""
        return self.past.rounds(last)

    @property
    def group(self) -> Group:
        """The working memory it uses: that of the group its inputs name, or its own."""
        first = self._local.store.read(self.id, 0, 1)
        started = first[0] if first else None
        inputs = started.inputs if isinstance(started, ticks.Started) else self.origin.inputs
        return group_of(self.id, inputs)

    def quarantine(self) -> list[QuarantineEntry]:
        """Everything that its nodes emitted, in logical order, a shared past included."""
        return Quarantine(self.plan, self.journal()).entries()

    def ledger(self) -> list[CallRecord]:
        """Every model call of this session, a row each; its usage is the sum of these rows."""
        return ledger_of(self.id, self.plan, self.past.ticks(), self.row.parent_length)

    @property
    def past(self) -> Past:
        """Its past, to be read in parts; for sessions of any length."""
        return Past(self._local.store, self.id, self.plan)

    def journal(self) -> Sequence[ticks.AnyTick]:
        """All ticks, as they were recorded."""
        return self._local.store.read(self.id, 0)

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
        GraphError if a change is impossible.
        """
        return await self._engine.fork(self, at, changes or {})

    async def control(
        self, control: AnyControl, *, run: bool = True, patience: float | None = None
    ) -> Delivered:
        """Have any control carried out, here or by the process that drives the session.

        Returns when it is in the journal. Raises WrongState or CallError if it is refused, here or
        by the driver. Without `run` it is only recorded, and takes effect when the session is
        resumed. After `patience` seconds it stays as a letter to a process that does not reply.
        A `Resume` is never left as a letter: it raises SessionBusy if another process drives.
        """
        return await ControlDelivery(self._local, patience).deliver(control, run=run)

    async def attend(self) -> None:
        """Do what is due, in this process: begin, go on, read letters, act on deadlines."""
        await self._local.attend()

    async def close(self) -> None:
        """Stop driving the session in this process; it is not over."""
        await self._local.close()

    def use(self, graph: Graph) -> None:
        """Use this graph's functions and secrets, which the store does not keep.

        A graph of another structure is refused.
        """
        self._local.use(graph)
