"""One durable run of one graph, as everyone outside holds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any
from weakref import WeakSet

from rondel.engine import ticks
from rondel.engine.binding import Binding
from rondel.engine.core import Core
from rondel.engine.protocols import Journal
from rondel.engine.runner import Runner
from rondel.engine.step import Step
from rondel.errors import CallError, Disconnected, WrongState
from rondel.sessions.events import Event, Narrator
from rondel.sessions.records import Result, StepLister, StepRecord, UsageTotal, result_of
from rondel.sessions.scores import score_in
from rondel.sessions.stream import Bell, Watcher


class Session:
    """A session under way or over: its state, its events, and its controls."""

    def __init__(self, id: str, binding: Binding, journal: Journal) -> None:
        self.id = id
        self._plan = binding.plan
        self._journal = journal
        self._core = Core(self._plan, measure=score_in)
        self._length = 0
        self._usage = UsageTotal()
        self._bell = Bell()
        self._watchers: WeakSet[Watcher] = WeakSet()
        self._closed = False
        self._runner = Runner(id, self._core, binding, self._record, self._live)

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.status}>"

    # State

    @property
    def status(self) -> str:
        """One of the states of a session."""
        return self._core.status

    @property
    def questions(self) -> dict[str, str]:
        """The open questions, oldest first: the asking node's id and what it asks."""
        steps = self._core.steps
        return {
            steps[number].node.id: question.description
            for number, question in self._core.questions.items()
        }

    async def result(self) -> Result:
        """Wait until the session is over, and say what became of it."""
        while not self._core.ended:
            self._check_alive()
            await self._bell.wait()
        return self.snapshot()

    async def settled(self) -> Result:
        """Wait until the session is over or needs somebody outside to go on."""
        while self._core.status in ("pending", "running") or self._runner.driving:
            self._check_alive()
            await self._bell.wait()
        self._check_alive()
        return self.snapshot()

    def snapshot(self) -> Result:
        """What the session has come to so far."""
        return result_of(self.id, self._core, self._usage)

    def events(self, after: int = 0, *, debug: bool = False) -> AsyncIterator[Event]:
        """Every durable event after number `after`, live ones from now on, until the end."""
        watcher = Watcher(
            Narrator(self.id, self._plan, debug),
            lambda start: self._journal.read(self.id, start),
            self._bell,
            after,
            self._check_alive,
        )
        self._watchers.add(watcher)
        return watcher.events()

    def steps(self) -> list[StepRecord]:
        """Every step with what it saw and produced, in logical order."""
        return StepLister(self._plan).list(self._journal.read(self.id, 0))

    def journal(self) -> Sequence[ticks.AnyTick]:
        """Everything that happened, as it was recorded."""
        return self._journal.read(self.id, 0)

    # Controls

    async def start(self, inputs: dict[str, Any]) -> None:
        """Begin; the first step starts as soon as the loop gets to it."""
        await self._control(lambda now: ticks.Started(now, inputs))

    async def answer(self, text: Any, node: str | None = None, by: str = "") -> None:
        """Answer the oldest open question, or that of a node."""
        await self._control(lambda now: ticks.Answered(now, self._asked(node), text, by))

    async def pause(self, by: str = "") -> None:
        """Start no further step; steps under way finish."""

        def make(now: float) -> ticks.Paused | None:
            self._demand_alive("paused")
            return None if self.status == "paused" else ticks.Paused(now, by)

        await self._control(make)

    async def resume(self, by: str = "") -> None:
        """Go on after a pause."""

        def make(now: float) -> ticks.Resumed | None:
            self._demand_alive("resumed")
            return ticks.Resumed(now, by) if self.status == "paused" else None

        await self._control(make)

    async def stop(self, by: str = "") -> None:
        """End the session; steps under way are cancelled."""

        def make(now: float) -> ticks.Stopped | None:
            if self.status == "cancelled":
                return None
            self._demand_alive("stopped")
            return ticks.Stopped(now, by)

        await self._control(make)

    async def close(self) -> None:
        """Let go of the session; it is not over, only nobody drives it here any more."""
        self._closed = True
        await self._runner.close()
        self._bell.ring()

    # Inside

    async def _control(self, make: Any) -> None:
        if self._closed:
            raise Disconnected(f"the engine of session {self.id} is closed")
        await self._runner.control(make)
        self._runner.drive().add_done_callback(lambda _: self._bell.ring())
        self._bell.ring()

    def _record(self, tick: ticks.AnyTick) -> Any:
        durable = self._journal.append(self.id, tick)
        self._length += 1
        usage = getattr(tick, "usage", None)
        if usage:
            self._usage.add(usage)
        self._bell.ring()
        return durable

    def _live(self, step: Step, event: str, data: dict[str, Any]) -> None:
        if not self._watchers:
            return
        face = Narrator.live(self.id, step, event, data)
        for watcher in self._watchers:
            watcher.hear(self._length, face)
        self._bell.ring()

    def _asked(self, node: str | None) -> int:
        core = self._core
        for number in core.questions:
            if node is None or node in (core.steps[number].node.id, core.steps[number].node.name):
                return number
        if node is not None and self._plan.node(node) is None:
            raise CallError(f"session {self.id} has no node {node!r}")
        who = f" of node {node!r}" if node is not None else ""
        raise WrongState(f"session {self.id} is {self.status}: no open question{who} to answer")

    def _demand_alive(self, what: str) -> None:
        if self._core.ended:
            raise WrongState(f"session {self.id} is {self.status}; it cannot be {what} any more")

    def _check_alive(self) -> None:
        if self._closed:
            raise Disconnected(f"the engine of session {self.id} was closed")
        self._runner.raise_if_broken()
