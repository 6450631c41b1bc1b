"""The part of the shell that never waits: it performs, records and folds in, step after step.

It stops where something has to be awaited, and says what; the runner awaits it. There is no
asyncio here, so that this file, the core and the executor can be compiled as they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Sequence
from typing import Final, Protocol

from rondel.engine import ticks
from rondel.engine.core import Core
from rondel.engine.effects import Command
from rondel.engine.executor import Executor, Pending
from rondel.engine.guard import Guard
from rondel.engine.host import Host
from rondel.engine.protocols import Lock, Note
from rondel.engine.purse import Purse
from rondel.engine.shell import Shell
from rondel.engine.ticks import Finished
from rondel.errors import Unstorable

YIELD_EVERY = 0.005
"""Seconds that steps may run in place before other sessions get their turn."""

NEVER: Final = 1 << 60
"""More ticks than a session can have."""


class Append(Protocol):
    """Makes a tick durable; None means that it already is."""

    def __call__(self, tick: ticks.AnyTick, /) -> Awaitable[None] | None: ...


class Bell(Protocol):
    """What those wait for who watch the session."""

    @property
    def waiting(self) -> object:
        """None if nobody waits."""
        ...

    def ring(self) -> None:
        """There is a new tick."""
        ...


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
    """Does what is ready in a session, as long as that takes no waiting."""

    __slots__ = (
        "_append",
        "_bell",
        "_guard",
        "_host",
        "core",
        "executor",
        "late",
        "length",
        "next_look",
        "purse",
        "ready",
        "since",
    )

    def __init__(
        self,
        core: Core,
        executor: Executor,
        host: Host,
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
        self.ready: deque[Command] = deque(core.todo())
        self.since = 0.0
        """When others last had their turn."""
        self.purse: Purse | None = None
        """Who gives leave for model calls, once a step has asked."""
        self._host = host
        self._guard = guard
        self._append = append
        self._bell = bell

    def run(self, shell: Shell) -> Pending | Entry | Turn | None:
        """Do what is ready and all that follows from it; what to wait for, if anything."""
        core, ready, executor = self.core, self.ready, self.executor
        now = self._host.now()
        while ready and core.status == "running" and not self.late:
            command = ready.popleft()
            alone = not (ready or self._host.busy or core.questions)
            if not alone and not executor.is_immediate(command):
                shell.start_beside(command, None)
                continue
            tick = executor.perform(command, shell, now)
            if isinstance(tick, Pending):
                if alone:
                    return tick
                shell.start_beside(command, tick)
                continue
            entry = self.enter(shell, tick, command)
            if entry is not None:
                return entry
            now = tick.at
            if now - self.since > YIELD_EVERY:
                return TURN
        return None

    def enter(
        self, shell: Shell, tick: ticks.AnyTick, command: Command | None = None
    ) -> Entry | None:
        """Record the tick and fold it in; the entry, if something is to be seen to first."""
        core, guard = self.core, self._guard
        status = core.status
        if type(tick) is Finished:
            if guard is not None and not tick.usage and core.steps[tick.step].parts is None:
                guard = None  # no model had a part in it
            if guard is not None:
                tick = guard.weigh(core, tick)
            recorded, durable = self._record(shell, tick)
        else:
            if command is not None and isinstance(tick, ticks.Locked):
                self.ready.append(command)  # for when the lock is opened
            recorded, durable = shell.record(tick)
        self.length += 1
        commands = core.apply(recorded)
        if self.purse is not None:
            self.purse.settle(recorded)
        found = guard.learn(core, recorded) if guard is not None else ()
        if core.status is not status or self.length >= self.next_look:
            shell.applied()
        if found or durable is not None:
            return Entry(found, durable, commands)
        for following in commands:
            self.ready.append(following)
        return None

    def _record(self, shell: Shell, tick: Finished) -> tuple[ticks.AnyTick, Awaitable[None] | None]:
        """What `shell.record` comes to for the end of a step, unless it cannot be stored."""
        try:
            durable = self._append(tick)
        except Unstorable:
            return shell.record(tick)
        if durable is None and self._bell.waiting is not None:
            self._bell.ring()
        return tick, durable
