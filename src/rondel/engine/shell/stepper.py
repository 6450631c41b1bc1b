"""The part of the shell that never waits: it performs, records and folds in, step after step.

It stops where something has to be awaited, and says what; the runner awaits it. There is no
asyncio here, so that this file, the state and the executor can be compiled as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from rondel.engine import ticks
from rondel.engine.core.effects import Command
from rondel.engine.core.fold import apply, todo
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.protocols import Lock, Note, Usage
from rondel.engine.shell.budget_gate import BudgetGate
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.executor import Executor
from rondel.engine.shell.guard import SessionGuard
from rondel.engine.shell.notifier import Notifier, ring
from rondel.engine.ticks import AnyTick, Finished

if TYPE_CHECKING:
    from rondel.engine.shell.services import StepServices

YIELD_EVERY: Final = 0.005
"""Seconds that steps may run in place before other sessions get their turn."""

FINISHED: Final = Finished
"""Known to compiled code without a look for its name."""

MOST_IN_A_ROW: Final = 64
"""Steps awaited in place before others get their turn: not all that is awaited waits."""


class Recorder(ABC):
    """Writes a session's ticks down; it is a class, so that compiled code calls it directly."""

    __slots__ = ()

    @abstractmethod
    def record(self, tick: AnyTick, /) -> tuple[AnyTick, Awaitable[None] | None]:
        """Make a tick durable, or one put in its place; None means that it already is."""

    @abstractmethod
    def applied(self) -> None:
        """The tick recorded last was folded in."""

    @abstractmethod
    def may_begin(self) -> Awaitable[None] | None:
        """None if what begins now can be recorded; else await it before anything begins."""

    @abstractmethod
    def tell(self, step: Step, event: str, data: dict[str, Any], /) -> None:
        """Tell those who watch of something that is not written down."""


class Unwritten:
    """Ticks that were folded in but are not durable yet."""

    __slots__ = ("commands", "durable")

    def __init__(self, durable: list[Awaitable[None]], commands: list[Command]) -> None:
        self.durable = durable
        """What is to be awaited, in this order."""
        self.commands = commands
        """What is ready then."""


class Interruption:
    """Nothing has to be awaited, but the stepper should not go on as it is."""

    __slots__ = ()


OTHERS_TURN: Final = Interruption()
"""Other sessions want their turn."""

OUT_OF_TIME: Final = Interruption()
"""The session may have run as long as its guard allows."""

Pause = Unwritten | Interruption
"""What the stepper has stopped for."""

Beside = tuple[Command, StepContext | None]
"""What is to be carried out beside the driver; with its context, if it was begun already."""


class Stepper:
    """Does what is ready in a session, as long as that takes no waiting."""

    __slots__ = (
        "_clock",
        "_deadline",
        "_draining",
        "_gate",
        "_guard",
        "_in_a_row",
        "_notifier",
        "_ready",
        "_recorder",
        "_since",
        "_to_start",
        "_watched",
        "beside",
        "executor",
        "in_place",
        "late",
        "pause",
        "state",
    )

    def __init__(
        self,
        state: SessionState,
        executor: Executor,
        clock: Callable[[], float],
        guard: SessionGuard | None,
        recorder: Recorder,
        notifier: Notifier,
    ) -> None:
        self.state = state
        self.executor = executor
        self.late = False
        """Whether the session has run as long as its guard allows."""
        self.in_place: StepContext | None = None
        """The step that the driver itself awaits."""
        self.beside: list[Command] = []
        """What is carried out beside the driver."""
        self.pause: Pause | None = None
        """What is to be seen to before it can go on; None if there is nothing to do."""
        self._deadline = float("inf")
        """When the session will be late, unless it waits meanwhile."""
        self._draining = False
        """Whether what is ready is left to the next process."""
        self._ready = todo(state)
        self._to_start: list[Beside] | None = None
        self._watched = guard is not None and guard.alert
        """Whether the guard wants to see every tick."""
        self._since = 0.0
        """When others last had their turn."""
        self._in_a_row = 0
        """How many steps were awaited in place since."""
        self._clock = clock
        self._guard = guard
        self._recorder = recorder
        self._notifier = notifier
        self._gate: BudgetGate | None = None

    # What the runner asks for

    def run(self, services: StepServices) -> Awaitable[Any] | None:
        """Do what is ready and all that follows from it.

        If it comes to a step that is the only one and waits, that is to be awaited and its result
        handed to `go_on`. Otherwise `pause` says why there was no going on.
        """
        self._in_a_row = 0
        held_up = self._recorder.may_begin()
        if held_up is not None:
            self.pause = Unwritten([held_up], [])
            return None
        self._since = self._clock()
        return self._run(services, self._since)

    def go_on(self, services: StepServices, result: Any) -> Awaitable[Any] | None:
        """The step that was awaited in place has come to this: go on as `run` does."""
        state, ctx = self.state, self.in_place
        self.in_place = self.pause = None
        if state.ended or ctx is None:
            return None
        self.pause = self.enter(self.executor.finish(ctx, result), ctx.step)
        if self.pause is not None:
            return None
        self._since = state.last_at
        self._in_a_row += 1
        if self._in_a_row < MOST_IN_A_ROW:
            return self._run(services, state.last_at)
        self.pause = OTHERS_TURN
        return None

    def take_pause(self) -> Pause | None:
        """What it has stopped for; it is seen to once."""
        pause, self.pause = self.pause, None
        return pause

    def break_off(self) -> StepContext:
        """The step that was awaited in place raised an error: it is not awaited any more."""
        ctx = self.in_place
        assert ctx is not None  # noqa: S101
        self.in_place = self.pause = None
        return ctx

    def go_on_after(
        self, services: StepServices, tick: AnyTick, step: Step
    ) -> Awaitable[Any] | None:
        """The step that was awaited in place has led to this tick: go on as `run` does."""
        self.pause = self.enter(tick, step)
        return self.run(services) if self.pause is None else None

    def put_back(self, commands: Iterable[Command]) -> None:
        """What was begun and not ended is to be done again."""
        self._ready.extend(commands)

    def written(self, unwritten: Unwritten) -> None:
        """Ticks are durable now: those who watch read them, and what waited for them is ready."""
        ring(self._notifier)
        self._ready.extend(unwritten.commands)

    def may_begin(self) -> Awaitable[None] | None:
        """What is to be awaited before foreign code is called; None if nothing is."""
        return self._recorder.may_begin()

    def emit(self, step: Step, event: str, data: dict[str, Any]) -> None:
        """A step has something to tell those who watch now."""
        self._recorder.tell(step, event, data)

    @property
    def gate(self) -> BudgetGate:
        """Who gives leave for model calls; made for the first who asks."""
        if self._gate is None:
            self._gate = BudgetGate(self.state, self._clock)
        return self._gate

    def unrecorded(self, step: Step) -> list[Usage]:
        """What model calls of a step took that are in no tick yet."""
        return [] if self._gate is None else self._gate.unrecorded(step)

    def begin_no_more(self) -> None:
        """What is ready, and what becomes ready, is left to the next process."""
        self._draining = True

    def start_over(self) -> None:
        """Only what is under way by the session's state is ready."""
        self._ready = todo(self.state)

    def take_to_start(self) -> list[Beside]:
        """What is to be started beside the driver, since this was last asked."""
        found, self._to_start = self._to_start, None
        return found or []

    def ended_beside(self, command: Command) -> None:
        """One of these has ended."""
        self.beside.remove(command)

    def stopped_beside(self) -> list[Command]:
        """All of these were stopped: those that had not ended."""
        stopped, self.beside = self.beside, []
        return stopped

    def allow_until(self, deadline: float) -> None:
        """The session is not late before that."""
        self.late = False
        self._deadline = deadline

    def set_late(self, *, late: bool) -> None:
        """The session has run as long as its guard allows, or may go on."""
        self.late = late

    def enter(self, tick: AnyTick, command: Command | None = None) -> Unwritten | None:
        """Record a tick of a command and fold it in, with all that the guard finds in it.

        What comes back is to be awaited.
        """
        state, guard = self.state, self._guard
        if isinstance(tick, FINISHED):  # mostly
            if guard is not None:
                whole = isinstance(command, Step) and command.parts is None
                if not whole or self._watched or tick.usage:
                    tick = guard.weigh(state, tick)
                else:
                    guard = None
        elif command is not None and isinstance(tick, ticks.Locked):
            self._ready.append(command)  # for when the lock is opened
        recorded, durable = self._recorder.record(tick)
        commands = apply(state, recorded)
        if self._gate is not None:
            self._gate.settle(recorded)
        found: Sequence[Lock | Note] = ()
        if guard is not None:
            found = guard.learn(state, recorded)
            self._watched = guard.alert
        self._recorder.applied()
        if durable is not None:
            return self._join(Unwritten([durable], commands), self.enter_found(found))
        self._ready = self._ready + commands if self._ready else commands
        ring(self._notifier)
        return self.enter_found(found) if found else None

    def enter_found(self, found: Iterable[Lock | Note]) -> Unwritten | None:
        """Record what the guard found, unless it is too late to matter."""
        unwritten: Unwritten | None = None
        for item in found:
            if self.state.ended or (isinstance(item, Lock) and self.state.lock is not None):
                break
            now = self._clock()
            if isinstance(item, Lock):
                tick: AnyTick = ticks.Locked(now, item.reason, item.message, item.figures)
            else:
                tick = ticks.Noted(now, item.event, item.data, item.node, item.address)
            unwritten = self._join(unwritten, self.enter(tick))
        return unwritten

    def _join(self, one: Unwritten | None, other: Unwritten | None) -> Unwritten | None:
        if one is None or other is None:
            return one or other
        return Unwritten([*one.durable, *other.durable], [*one.commands, *other.commands])

    # Step after step

    def _run(self, services: StepServices, now: float) -> Awaitable[Any] | None:
        state, executor = self.state, self.executor
        self.pause = None
        while self._ready and state.running and not (self.late or self._draining):
            if now >= self._deadline:
                self.pause = OUT_OF_TIME  # the clock's alarm waits as long as steps run in place
                return None
            command = self._ready.pop(0)
            alone = not (self._ready or self.beside or state.questions)
            if not alone and not executor.is_immediate(command):
                self._start_beside(command, None)
                continue
            done = executor.perform(command, services, now)
            if isinstance(done, StepContext):
                if alone:
                    self.in_place = done
                    return done.call
                self._start_beside(command, done)
                continue
            self.pause = self.enter(done, command)
            now = state.last_at
            if self.pause is None and now - self._since > YIELD_EVERY:
                self.pause = OTHERS_TURN
            if self.pause is not None:
                return None
        return None

    def _start_beside(self, command: Command, begun: StepContext | None) -> None:
        if self._to_start is None:
            self._to_start = []
        self._to_start.append((command, begun))
        self.beside.append(command)
