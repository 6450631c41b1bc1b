"""Carrying out a command: run a step, route an inner graph's output, process a way out.

Whatever is foreign code (processors, routers, conditions, edge processes) runs here, and its
result is in the tick that comes back, so that the core and every replay can do without it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator

import msgspec

from rondel.engine import ticks
from rondel.engine.binding import Binding, describe, processed
from rondel.engine.context import Halted, Shell, StepContext
from rondel.engine.core import Core
from rondel.engine.effects import Command, Judge, Leave, Route
from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Lock, Nothing, Outcome, Suspend
from rondel.engine.purse import OverBudget
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

    def perform(self, command: Command) -> ticks.AnyTick | Awaitable[ticks.AnyTick]:
        """Do what the core asks for; the tick says what came of it, now or when awaited."""
        if isinstance(command, Step):
            return self._run_step(command)
        if isinstance(command, Route):
            return self._route(command)
        if isinstance(command, Judge):
            return self._judge(command)
        return self._leave(command)

    def _run_step(self, step: Step) -> ticks.AnyTick | Awaitable[ticks.AnyTick]:
        now = self._clock()
        core = self._core
        ctx = StepContext(step, self._shell, now, now - core.started_at - core.idle)
        bound = self._binding.nodes[step.node.index]
        try:
            if bound.now is None:
                return self._await_step(step, ctx, bound.call(ctx))  # type: ignore[misc]
            outcome = bound.now(ctx)
            if isinstance(outcome, Emit):
                return self._emitted(step, ctx, outcome)
            if inspect.isawaitable(outcome):
                return self._await_step(step, ctx, outcome)
            return self._other_outcome(step, ctx, outcome)
        except OverBudget as over:
            return self._refused(step, ctx, over)
        except (Exception, asyncio.CancelledError) as error:  # what a node raises is its own
            return self._failed(step, ctx, error)
        except BaseExceptionGroup as group:
            return self._several(step, ctx, group)

    async def _await_step(
        self, step: Step, ctx: StepContext, call: Awaitable[Outcome | Lock]
    ) -> ticks.AnyTick:
        try:
            outcome = await call
            if isinstance(outcome, Emit):
                return self._emitted(step, ctx, outcome)
            return self._other_outcome(step, ctx, outcome)
        except OverBudget as over:
            return self._refused(step, ctx, over)
        except asyncio.CancelledError as error:
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            return self._failed(step, ctx, error)  # something in the node was, not the step
        except Exception as error:  # the same
            return self._failed(step, ctx, error)
        except BaseExceptionGroup as group:
            return self._several(step, ctx, group)

    def _emitted(self, step: Step, ctx: StepContext, outcome: Emit) -> ticks.Finished:
        bound = self._binding.nodes[step.node.index]
        source = bound.source
        try:
            messages = [
                message if message.source == source else _signed(message, source)
                for message in outcome.messages
            ]
        except AttributeError:
            raise _no_messages(step, outcome) from None
        fired, altered = bound.route(step, outcome, messages)
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
            list(ctx.usage or ()),
            round(now - ctx.now, 6),
            ctx.retried or [],
        )

    def _other_outcome(
        self, step: Step, ctx: StepContext, outcome: Outcome | Lock
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
                    usage=list(ctx.usage or ()),
                    took=round(now - ctx.now, 6),
                    retried=ctx.retried or [],
                )
            case Suspend():
                return ticks.Suspended(
                    now, step.number, outcome.question, outcome.state, list(ctx.usage or ())
                )
            case Lock():
                return ticks.Locked(now, outcome.reason, outcome.message, outcome.figures)
            case _:
                name = type(outcome).__name__
                raise StepFailed(f"node {step.node.id!r} returned {name}, not an outcome")

    def _failed(self, step: Step, ctx: StepContext, error: BaseException) -> ticks.Failed:
        now = self._clock()
        return ticks.Failed(
            now,
            step.number,
            error=describe(error),
            kind="timeout" if isinstance(error, StepTimeout) else type(error).__name__,
            usage=list(ctx.usage or ()),
            took=round(now - ctx.now, 6),
            retried=ctx.retried or [],
        )

    def _refused(self, step: Step, ctx: StepContext, over: OverBudget) -> ticks.Refused:
        now = self._clock()
        took = round(now - ctx.now, 6)
        return ticks.Refused(now, step.number, over.entry, list(ctx.usage or ()), took)

    def _several(
        self, step: Step, ctx: StepContext, group: BaseExceptionGroup[BaseException]
    ) -> ticks.AnyTick:
        """What came out of a task group: what the engine itself raised goes first."""
        if group.subgroup(Halted) is not None:
            raise Halted
        over = next(_leaves(group.subgroup(OverBudget)), None)
        if over is None:
            return self._failed(step, ctx, group)
        return self._refused(step, ctx, over)

    def _route(self, command: Route) -> ticks.AnyTick:
        """Send an inner graph's output along the edges of its node."""
        step = command.step
        ctx = StepContext(step, self._shell, self._clock(), 0.0)
        try:
            return self._emitted(step, ctx, Emit(command.messages))
        except Exception as error:
            return self._failed(step, ctx, error)

    def _judge(self, command: Judge) -> ticks.AnyTick:
        """See whether a loop has what it goes on for."""
        frame = command.frame
        until = frame.scope.contract.until
        try:
            held = until is not None and self._binding.term(until)(
                command.data, command.text, frame.round, frame.value
            )
        except Exception as error:
            text = f"the contract of loop {frame.scope.name!r} failed: {describe(error)}"
            return ticks.Aborted(self._clock(), "contract_failed", text)
        return ticks.Judged(self._clock(), frame.entry, held)

    def _leave(self, command: Leave) -> ticks.AnyTick:
        """Process what a contract sends out of a loop."""
        altered: dict[int, list[Message | None]] = {}
        try:
            for edge, emission in command.emissions.items():
                process = self._binding.edges[edge].process
                if process is not None:
                    altered[edge] = [processed(process, message) for message in emission.messages]
        except Exception as error:
            text = f"the way out of loop {command.frame.scope.name!r} failed: {describe(error)}"
            return ticks.Aborted(self._clock(), "step_failed", text)
        return ticks.WayOut(self._clock(), command.frame.entry, altered)


def _leaves(group: BaseExceptionGroup[OverBudget] | None) -> Iterator[OverBudget]:
    for error in () if group is None else group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _no_messages(step: Step, outcome: Emit) -> StepFailed:
    wrong = next((m for m in outcome.messages if not isinstance(m, Message)), None)
    name = type(wrong).__name__
    return StepFailed(f"node {step.node.id!r} emitted {name}; Emit takes a list of Message")


def _signed(message: Message, source: str) -> Message:
    """The message with its source; a fresh one is signed in place, a shared one is copied."""
    if not message.source:
        msgspec.structs.force_setattr(message, "source", source)
        return message
    return msgspec.structs.replace(message, source=source)
