"""Carrying out a command: run a step, route an inner graph's output, process a way out.

Whatever is foreign code (processors, routers, conditions, edge processes) runs here, and its
result is in the tick that comes back, so that the core and every replay can do without it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rondel.engine import ticks
from rondel.engine.binding import Binding, describe
from rondel.engine.context import Shell, StepContext
from rondel.engine.core import Core
from rondel.engine.effects import Command, Leave, Route
from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Lock, Nothing, Outcome, Suspend
from rondel.engine.step import Step
from rondel.errors import StepFailed, StepTimeout


class Executor:
    """Turns commands into ticks."""

    def __init__(
        self, core: Core, binding: Binding, shell: Shell, clock: Callable[[], float]
    ) -> None:
        self._core = core
        self._binding = binding
        self._shell = shell
        self._clock = clock

    async def perform(self, command: Command) -> ticks.AnyTick:
        """Do what the core asks for; the tick says what came of it."""
        if isinstance(command, Step):
            return await self._run_step(command)
        if isinstance(command, Route):
            return self._route(command)
        return self._leave(command)

    async def _run_step(self, step: Step) -> ticks.AnyTick:
        now = self._clock()
        core = self._core
        active = now - core.started_at - core.idle
        ctx = StepContext(step, self._shell, now, active)
        bound = self._binding.nodes[step.node.index]
        try:
            outcome = await bound.call(ctx)  # type: ignore[misc]
            if isinstance(outcome, Emit):
                return self._emitted(step, ctx, outcome, now)
            return self._other_outcome(step, ctx, outcome, now)
        except Exception as error:  # the one blanket catch: what a node raises is the node's own
            return self._failed(step, ctx, error, now)

    def _emitted(self, step: Step, ctx: StepContext, outcome: Emit, began: float) -> ticks.Finished:
        bound = self._binding.nodes[step.node.index]
        messages = [_signed(message, bound.source) for message in outcome.messages]
        fired, altered = bound.route(step, outcome if bound.plain else _with(outcome, messages))
        now = self._clock()
        return ticks.Finished(
            now,
            step.number,
            messages,
            fired,
            altered,
            outcome.state,
            outcome.verdict,
            outcome.report,
            ctx.usage or [],
            now - began,
            ctx.retried or [],
        )

    def _other_outcome(
        self, step: Step, ctx: StepContext, outcome: Outcome | Lock, began: float
    ) -> ticks.AnyTick:
        now = self._clock()
        match outcome:
            case Nothing():
                return ticks.Finished(
                    now,
                    step.number,
                    state=outcome.state,
                    verdict=outcome.verdict,
                    report=outcome.report,
                    usage=ctx.usage or [],
                    took=now - began,
                    retried=ctx.retried or [],
                )
            case Suspend():
                return ticks.Suspended(
                    now, step.number, outcome.question, outcome.state, ctx.usage or []
                )
            case Lock():
                return ticks.Locked(now, outcome.reason, outcome.message, outcome.figures)
            case _:
                name = type(outcome).__name__
                raise StepFailed(f"node {step.node.id!r} returned {name}, not an outcome")

    def _failed(self, step: Step, ctx: StepContext, error: Exception, began: float) -> ticks.Failed:
        now = self._clock()
        return ticks.Failed(
            now,
            step.number,
            error=describe(error),
            kind="timeout" if isinstance(error, StepTimeout) else type(error).__name__,
            usage=ctx.usage or [],
            took=now - began,
            retried=ctx.retried or [],
        )

    def _route(self, command: Route) -> ticks.AnyTick:
        """Send an inner graph's output along the edges of its node."""
        step = command.step
        ctx = StepContext(step, self._shell, self._clock(), 0.0)
        try:
            return self._emitted(step, ctx, Emit(command.messages), ctx.now)
        except Exception as error:
            return self._failed(step, ctx, error, ctx.now)

    def _leave(self, command: Leave) -> ticks.AnyTick:
        """Process what a contract sends out of a loop."""
        altered: dict[int, list[Message | None]] = {}
        try:
            for edge, emission in command.emissions.items():
                process = self._binding.edges[edge].process
                if process is not None:
                    altered[edge] = [process(message) for message in emission.messages]
        except Exception as error:
            text = f"the way out of loop {command.frame.scope.name!r} failed: {describe(error)}"
            return ticks.Aborted(self._clock(), "step_failed", text)
        return ticks.WayOut(self._clock(), command.frame.entry, altered)


def _signed(message: Message, source: str) -> Message:
    """The message with its source; a fresh one is signed in place, a shared one is copied."""
    if message.source == source:
        return message
    if not message.source:
        msgspec.structs.force_setattr(message, "source", source)
        return message
    return msgspec.structs.replace(message, source=source)


def _with(outcome: Emit, messages: list[Message]) -> Emit:
    return Emit(messages, outcome.state, outcome.verdict, outcome.report)
