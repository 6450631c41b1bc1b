"""The part of the shell that never waits: it performs, records and folds in, step after step.

It stops where something has to be awaited, and says what; the runner awaits it. There is no
asyncio here, so that this file, the core and the executor can be compiled as they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from rondel.engine import ticks
from rondel.engine.core.effects import Command
from rondel.engine.core.fold import Core
from rondel.engine.core.queue import Queue
from rondel.engine.core.said import Said
from rondel.engine.core.step import Step
from rondel.engine.emit import Emit
from rondel.engine.protocols import Lock, Note, Outcome
from rondel.engine.shell.budget_gate import Purse
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.executor import Executor, at_length
from rondel.engine.shell.guard import Guard
from rondel.engine.shell.notifier import Bell
from rondel.engine.shell.shell import Shell
from rondel.engine.ticks import Finished
from rondel.errors import Unstorable

YIELD_EVERY: Final = 0.005
"""Seconds that steps may run in place before other sessions get their turn."""

MOST_IN_A_ROW: Final = 64
"""Steps awaited in place before others get their turn: not all that is awaited waits."""

NEVER: Final = 1 << 60
"""More ticks than a session can have."""


class Append(Protocol):
    """Makes a tick durable; None means that it already is."""

    def __call__(self, tick: ticks.AnyTick | Said, /) -> Awaitable[None] | None: ...


class Entry:
    """A tick that was folded in, but is not durable yet, or in which a guard found something."""

    __slots__ = ("commands", "durable", "found")

    def __init__(
        self,
        found: Sequence[Lock | Note],
        durable: Awaitable[None] | None,
        commands: list[Command],
    ) -> None:
        self.found = found
        self.durable = durable
        self.commands = commands
        """What is ready once all that is seen to."""


class Turn:
    """Others want their turn."""

    __slots__ = ()


TURN: Final = Turn()

Pause = Entry | Turn
"""What the stepper has stopped for."""


class Stepper:
    """Does what is ready in a session, as long as that takes no waiting."""

    __slots__ = (
        "_append",
        "_bell",
        "_clock",
        "_guard",
        "_in_a_row",
        "_since",
        "beside",
        "core",
        "deadline",
        "executor",
        "in_place",
        "late",
        "length",
        "next_look",
        "pause",
        "purse",
        "ready",
        "watched",
    )

    def __init__(
        self,
        core: Core,
        executor: Executor,
        clock: Callable[[], float],
        guard: Guard | None,
        append: Append,
        bell: Bell,
    ) -> None:
        self.core = core
        self.executor = executor
        self.length = 0
        """How many ticks the session has."""
        self.next_look = NEVER
        """The length at which there is a look at the session even if its status stays."""
        self.late = False
        """Whether the session has run as long as its guard allows."""
        self.deadline = float("inf")
        """When that will be, unless it waits meanwhile."""
        self.watched = guard is not None and guard.alert
        """Whether the guard wants to see every tick."""
        self.ready = Queue()
        self.ready.put_all(core.todo())
        self.beside = 0
        """How many commands are carried out beside the driver."""
        self.in_place: StepContext | None = None
        """The step that the driver itself awaits."""
        self.pause: Pause | None = None
        """What is to be seen to before it can go on; None if there is nothing to do."""
        self.purse: Purse | None = None
        """Who gives leave for model calls, once a step has asked."""
        self._since = 0.0
        """When others last had their turn."""
        self._in_a_row = 0
        """How many steps were awaited in place since."""
        self._clock = clock
        self._guard = guard
        self._append = append
        self._bell = bell

    def run(self, shell: Shell) -> Awaitable[Any] | None:
        """Do what is ready and all that follows from it.

        If it comes to a step that is the only one and waits, that is to be awaited and its result
        handed to `go_on`. Otherwise `pause` says why there was no going on.
        """
        self._since = self._clock()
        self._in_a_row = 0
        return self._run(shell, self._since)

    def go_on(self, shell: Shell, result: Any) -> Awaitable[Any] | None:
        """The step that was awaited in place has come to this; the same from there on."""
        core, ctx = self.core, self.in_place
        self.in_place = self.pause = None
        if core.ended or ctx is None:
            return None
        self.pause = self._finish(shell, ctx, result)
        if self.pause is not None:
            return None
        self._since = core.last_at
        self._in_a_row += 1
        if self._in_a_row < MOST_IN_A_ROW:
            return self._run(shell, core.last_at)
        self.pause = TURN
        return None

    def _run(self, shell: Shell, now: float) -> Awaitable[Any] | None:
        core, executor = self.core, self.executor
        self.pause = None
        while self.ready.length and core.running and not self.late:
            if now >= self.deadline:
                shell.time_is_up()  # the clock's alarm waits as long as steps run in place
                if self.late:
                    break
            command = self.ready.take()
            alone = not (self.ready.length or self.beside or core.questions)
            if not alone and not executor.is_immediate(command):
                shell.start_beside(command, None)
                continue
            found = self._perform(shell, command, now)
            if isinstance(found, StepContext):
                if alone:
                    self.in_place = found
                    return found.call
                shell.start_beside(command, found)
                continue
            now, self.pause = core.last_at, found
            if found is None and now - self._since > YIELD_EVERY:
                self.pause = TURN
            if self.pause is not None:
                return None
        return None

    def _perform(self, shell: Shell, command: Command, now: float) -> StepContext | Entry | None:
        """Carry out a command and record what comes of it; its context, if it waits."""
        if not isinstance(command, Step):
            return self.enter(shell, self.executor.decide(command, shell), command)
        ctx = StepContext(command, shell, now)
        try:
            outcome = self.executor.begin(ctx)
        except BaseException as error:
            return self._explain(shell, ctx, error)
        return ctx if isinstance(outcome, StepContext) else self._settle(shell, ctx, outcome)

    def _finish(self, shell: Shell, ctx: StepContext, result: Any) -> Entry | None:
        try:
            outcome = self.executor.finish(ctx, result)
        except BaseException as error:
            return self._explain(shell, ctx, error)
        return self._settle(shell, ctx, outcome)

    def _settle(self, shell: Shell, ctx: StepContext, outcome: Outcome | Lock) -> Entry | None:
        """Record what a step's node has come to, and fold it in."""
        if type(outcome) is not Emit:
            return self._conclude(shell, ctx, outcome)
        try:
            tick, now, messages, fired, altered = self.executor.end(ctx, outcome)
        except BaseException as error:
            return self._explain(shell, ctx, error)
        step, core = ctx.step, self.core
        by_model = ctx.usage is not None or step.parts is not None
        if by_model or self.watched or self.purse is not None or not core.running:
            return self.enter(shell, at_length(tick), step)
        try:
            durable = self._append(tick)
        except Unstorable:
            return self.enter(shell, at_length(tick), step)
        self.length += 1
        core.finish(step, None, now, messages, fired, altered, outcome.state, outcome.verdict)
        if not core.running or self.length >= self.next_look:
            shell.applied()
        return self._entered((), durable)

    def _conclude(self, shell: Shell, ctx: StepContext, outcome: Outcome | Lock) -> Entry | None:
        try:
            tick = self.executor.conclude(ctx, outcome)
        except BaseException as error:
            return self._explain(shell, ctx, error)
        return self.enter(shell, tick, ctx.step)

    def _explain(self, shell: Shell, ctx: StepContext, error: BaseException) -> Entry | None:
        return self.enter(shell, self.executor.explain(ctx, error), ctx.step)

    def enter(
        self, shell: Shell, tick: ticks.AnyTick, command: Command | None = None
    ) -> Entry | None:
        """Record the tick and fold it in; the entry, if something is to be seen to first."""
        core, guard = self.core, self._guard
        status = core.status
        if isinstance(tick, Finished):
            by_model = bool(tick.usage) or core.steps[tick.step].parts is not None
            if not (by_model or self.watched):
                guard = None
            if guard is not None:
                tick = guard.weigh(core, tick)
        elif command is not None and isinstance(tick, ticks.Locked):
            self.ready.put(command)  # for when the lock is opened
        recorded, durable = shell.record(tick)
        self.length += 1
        core.apply(recorded)
        if self.purse is not None:
            self.purse.settle(recorded)
        found: Sequence[Lock | Note] = ()
        if guard is not None:
            found = guard.learn(core, recorded)
            self.watched = guard.alert
        if core.status is not status or self.length >= self.next_look:
            shell.applied()
        return self._entered(found, durable)

    def _entered(
        self, found: Sequence[Lock | Note], durable: Awaitable[None] | None
    ) -> Entry | None:
        core = self.core
        if found or durable is not None:
            return Entry(found, durable, core.commands.take_all())
        if not self.ready.length:  # mostly: then the two queues trade places
            self.ready, core.commands = core.commands, self.ready
        elif core.commands.length:
            self.ready.put_all(core.commands.take_all())
        if self._bell.waiting is not None:
            self._bell.ring()
        return None
