"""The part of the shell that never waits: it performs, records and folds in, step after step.

It stops where something has to be awaited, and says what; the runner awaits it. There is no
asyncio here, so that this file, the core and the executor can be compiled as they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from rondel.engine import ticks
from rondel.engine.core import Core
from rondel.engine.effects import Command
from rondel.engine.executor import Executor, Pending
from rondel.engine.guard import Guard
from rondel.engine.host import Host
from rondel.engine.protocols import Lock, Note
from rondel.engine.shell import Shell
from rondel.engine.ticks import Finished

YIELD_EVERY = 0.005
"""Seconds that steps may run in place before other sessions get their turn."""

NEVER: Final = 1 << 60
"""More ticks than a session can have."""


class Recorder(Protocol):
    """Makes a tick durable, or the one it puts in its place; None means that it already is."""

    def __call__(self, tick: ticks.AnyTick, /) -> tuple[ticks.AnyTick, Awaitable[None] | None]: ...


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


class Stepper:
    """Does what is ready, as long as that takes no waiting."""

    __slots__ = (
        "_applied",
        "_guard",
        "_host",
        "_record",
        "_shell",
        "_start_beside",
        "core",
        "executor",
        "late",
        "length",
        "next_look",
        "ready",
        "since",
    )

    def __init__(
        self,
        shell: Shell,
        executor: Executor,
        record: Recorder,
        applied: Callable[[], None],
        start_beside: Callable[[Command, Pending | None], None],
        host: Host,
        guard: Guard | None,
    ) -> None:
        self.core: Core = shell.core
        self.executor = executor
        self.length = 0
        """How many ticks the session has."""
        self.next_look = NEVER
        """The length at which `applied` is called even if the status stays as it is."""
        self.late = False
        """Whether the session has run as long as its guard allows."""
        self.ready: deque[Command] = deque(self.core.todo())
        self.since = 0.0
        """When others last had their turn."""
        self._shell = shell
        self._record = record
        self._applied = applied
        self._start_beside = start_beside
        self._host = host
        self._guard = guard

    def run(self) -> Pending | Entry | Turn | None:
        """Do what is ready and all that follows from it; what to wait for, if anything."""
        core, ready, executor = self.core, self.ready, self.executor
        while ready and core.status == "running" and not self.late:
            command = ready.popleft()
            alone = not (ready or self._host.busy or core.questions)
            if not alone and not executor.is_immediate(command):
                self._start_beside(command, None)
                continue
            tick = executor.perform(command)
            if isinstance(tick, Pending):
                if alone:
                    return tick
                self._start_beside(command, tick)
                continue
            entry = self.enter(tick, command)
            if entry is not None:
                return entry
            if tick.at - self.since > YIELD_EVERY:
                return TURN
        return None

    def enter(self, tick: ticks.AnyTick, command: Command | None = None) -> Entry | None:
        """Record the tick and fold it in; the entry, if something is to be seen to first."""
        core, guard = self.core, self._guard
        status = core.status
        if type(tick) is Finished:
            if guard is not None and not tick.usage and core.steps[tick.step].parts is None:
                guard = None  # no model had a part in it
            if guard is not None:
                tick = guard.weigh(core, tick)
        elif command is not None and isinstance(tick, ticks.Locked):
            self.ready.append(command)  # for when the lock is opened
        recorded, durable = self._record(tick)
        self.length += 1
        commands = core.apply(recorded)
        if self._shell.spends:
            self._shell.purse.settle(recorded)
        found = guard.learn(core, recorded) if guard is not None else ()
        if core.status is not status or self.length >= self.next_look:
            self._applied()
        if found or durable is not None:
            return Entry(found, durable, commands)
        for following in commands:
            self.ready.append(following)
        return None
