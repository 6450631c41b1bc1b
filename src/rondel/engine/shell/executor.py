"""Carrying out a command: run a step, route an inner graph's output, process a way out.

Whatever is foreign code (processors, routers, conditions, edge processes) runs here, and its
result is in the tick that comes back, so that the state and every replay can do without it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import force_setattr, replace

from rondel.engine import ticks
from rondel.engine.core.effects import CheckUntil, Command, ProcessWayOut, Route
from rondel.engine.core.step import Step
from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Lock, Nothing, Outcome, Suspend, Usage
from rondel.engine.shell.binding import UNALTERED, Binding, processed
from rondel.engine.shell.budget_gate import OverBudget
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.dynamic_fan_out import Expand
from rondel.engine.shell.exits import Halted, confined
from rondel.engine.shell.wrapping import describe
from rondel.engine.ticks import Altered, Finished
from rondel.errors import StepFailed, StepTimeout

if TYPE_CHECKING:
    from rondel.engine.shell.services import StepServices

NODES_OWN: Final = (Exception, asyncio.CancelledError)
"""What is a node's own error, if nobody has cancelled its step."""

FINISHED: Final = Finished
MESSAGE: Final = Message
SIGN: Final = force_setattr
"""Known to compiled code without a look for their names."""

LOG: Final = logging.getLogger("rondel.steps")

NO_USAGE: Final[list[Usage]] = []
NO_ERRORS: Final[list[str]] = []
"""Shared by all ticks that have none; no tick is ever changed."""


class Executor:
    """Carries out a command: it calls foreign code, and a tick says what came of it."""

    __slots__ = ("_binding", "_clock", "_nodes")

    def __init__(self, binding: Binding, clock: Callable[[], float]) -> None:
        self._binding = binding
        self._nodes = binding.nodes
        self._clock = clock

    def is_immediate(self, command: Command) -> bool:
        """Whether it can be done in place, as far as one can know before."""
        return type(command) is not Step or not self._nodes[command.node.index].waits

    def perform(
        self, command: Command, services: StepServices, now: float
    ) -> ticks.AnyTick | StepContext:
        """Do what the state asks for; its context comes back if a node waits, for `ctx.call`."""
        if not isinstance(command, Step):
            return self._decide(command, services)
        ctx = StepContext(command, services, now)
        bound = self._nodes[command.node.index]
        try:
            outcome = bound.begin(ctx)  # type: ignore[misc]
            if type(outcome) is Emit:
                return self._end(ctx, outcome)
            if outcome is not None and (bound.waits or inspect.isawaitable(outcome)):
                ctx.call = outcome
                return ctx
            return self._tick_of(ctx, outcome)  # type: ignore[arg-type]
        except BaseException as error:
            return self.explain(ctx, error)

    def finish(self, ctx: StepContext, result: Any) -> ticks.AnyTick:
        """The tick of a step whose node waited for this."""
        finish = self._nodes[ctx.step.node.index].finish
        try:
            return self._tick_of(ctx, result if finish is None else finish(result, ctx))
        except BaseException as error:
            return self.explain(ctx, error)

    def conclude(self, ctx: StepContext, outcome: Outcome) -> ticks.AnyTick:
        """The tick of a step that comes to this without its node."""
        try:
            return self._tick_of(ctx, outcome)
        except BaseException as error:
            return self.explain(ctx, error)

    def explain(self, ctx: StepContext, error: BaseException) -> ticks.AnyTick:
        """The tick of a step whose node raised this, or an edge of it; else it is raised again."""
        error = confined(error)
        if isinstance(error, OverBudget):
            return self._refused(ctx.step, ctx, error)
        if isinstance(error, BaseExceptionGroup):
            return self._several(ctx.step, ctx, error)
        if not isinstance(error, NODES_OWN):
            raise error
        return self._failed(ctx.step, ctx, error)

    def _decide(
        self, command: Route | CheckUntil | ProcessWayOut, services: StepServices
    ) -> ticks.AnyTick:
        """Do what is no step."""
        if isinstance(command, Route):
            return self._route(command, services)
        if isinstance(command, CheckUntil):
            return self._check_until(command)
        return self._leave(command)

    def _tick_of(self, ctx: StepContext, outcome: Outcome | Lock | Expand) -> ticks.AnyTick:
        """The tick of a step whose node has come to this."""
        step = ctx.step
        match outcome:
            case Emit():
                return self._end(ctx, outcome)
            case Nothing():
                return self._finished(ctx, (), (), UNALTERED, outcome)
            case Suspend():
                question, state, usage = outcome.question, outcome.state, ctx.usage or []
                return ticks.Suspended(self._clock(), step.number, question, state, usage)
            case Expand():
                return ticks.Expanded(self._clock(), step.number, outcome.stages, outcome.shared)
            case Lock():
                figures = outcome.figures
                return ticks.Locked(self._clock(), outcome.reason, outcome.message, figures)
            case _:
                name = type(outcome).__name__
                raise StepFailed(f"node {step.node.id!r} returned {name}, not an outcome")

    def _end(self, ctx: StepContext, outcome: Emit) -> Finished:
        """The end of a step that emitted something."""
        step = ctx.step
        bound = self._nodes[step.node.index]
        messages = _signed(step, bound.source, outcome.messages)
        if step.part:
            return self._finished(ctx, messages, (), UNALTERED, outcome)
        fired, altered = bound.route(step, outcome, messages)
        return self._finished(ctx, messages, fired, altered, outcome)

    def _finished(
        self,
        ctx: StepContext,
        messages: tuple[Message, ...],
        fired: tuple[int, ...],
        altered: Altered,
        outcome: Emit | Nothing,
    ) -> Finished:
        now = self._clock()
        return FINISHED(
            now,
            ctx.step.number,
            messages,
            fired,
            altered,
            outcome.state,
            outcome.verdict,
            outcome.report,
            ctx.usage or NO_USAGE,
            int((now - ctx.now) * 1e6 + 0.5)
            / 1e6,  # to six places; `round` takes ten times as long
            ctx.retried or NO_ERRORS,
        )

    def _failed(self, step: Step, ctx: StepContext, error: BaseException) -> ticks.Failed:
        _log_where(step, error)
        now = self._clock()
        return ticks.Failed(
            now,
            step.number,
            error=describe(error),
            kind="timeout" if isinstance(error, StepTimeout) else type(error).__name__,
            usage=ctx.usage or [],
            took=round(now - ctx.now, 6),
            retried=ctx.retried or [],
        )

    def _refused(self, step: Step, ctx: StepContext, over: OverBudget) -> ticks.Refused:
        now = self._clock()
        took = round(now - ctx.now, 6)
        return ticks.Refused(now, step.number, over.entry, ctx.usage or [], took)

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

    def _route(self, command: Route, services: StepServices) -> ticks.AnyTick:
        """Send an inner graph's output along the edges of its node."""
        step = command.step
        ctx = StepContext(step, services, self._clock())
        try:
            return self._end(ctx, Emit(command.messages))
        except BaseException as error:
            return self.explain(ctx, error)

    def _check_until(self, command: CheckUntil) -> ticks.AnyTick:
        """Evaluate the `until` of a loop's contract."""
        frame = command.frame
        until = frame.scope.contract.until
        try:
            met = until is not None and self._binding.until(until)(
                command.data, command.text, frame.round, frame.score
            )
        except BaseException as raised:
            error = _owned(raised)
            text = f"the contract of loop {frame.scope.name!r} failed: {describe(error)}"
            return ticks.Aborted(self._clock(), "contract_failed", text)
        return ticks.UntilChecked(self._clock(), frame.entry, met)

    def _leave(self, command: ProcessWayOut) -> ticks.AnyTick:
        """Process what a contract sends out of a loop."""
        altered: ticks.Altered = {}
        try:
            for edge, (_, _, _, messages) in command.emissions.items():
                bound = self._binding.edges[edge]
                if bound.process is not None:
                    altered[edge] = [processed(bound, message) for message in messages]
        except BaseException as raised:
            error = _owned(raised)
            text = f"the way out of loop {command.frame.scope.name!r} failed: {describe(error)}"
            return ticks.Aborted(self._clock(), "step_failed", text)
        return ticks.WayOut(self._clock(), command.frame.entry, altered)


def _signed(step: Step, source: str, emitted: Sequence[Message]) -> tuple[Message, ...]:
    """What a step emitted, with its node as the source."""
    messages = emitted if type(emitted) is tuple else tuple(emitted)
    foreign = False
    for message in messages:
        if type(message) is not MESSAGE and not isinstance(message, Message):
            raise _no_message(step, message)
        signed = message.source
        if not signed:
            SIGN(message, "source", source)  # it is fresh
        elif signed != source:
            foreign = True
    return tuple([replace(message, source=source) for message in messages]) if foreign else messages


def _log_where(step: Step, error: BaseException) -> None:
    """Log where a node failed; what the error says may hold a secret, so that is not logged."""
    if LOG.isEnabledFor(logging.DEBUG):
        where = "".join(traceback.format_tb(error.__traceback__))
        LOG.debug("%s failed with %s:\n%s", step.address, type(error).__name__, where)


def _owned(error: BaseException) -> Exception:
    """An error of code in the graph; one that is not is raised again."""
    found = confined(error)
    if isinstance(found, Exception):
        return found
    raise found


def _leaves(group: BaseExceptionGroup[OverBudget] | None) -> Iterator[OverBudget]:
    for error in () if group is None else group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _no_message(step: Step, emitted: object) -> StepFailed:
    name = type(emitted).__name__
    return StepFailed(f"node {step.node.id!r} emitted {name}; Emit takes a list of Message")
