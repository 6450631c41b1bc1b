"""Carrying out a command: run a step, route an inner graph's output, process a way out.

Whatever is foreign code (processors, routers, conditions, edge processes) runs here, and its
result is in the tick that comes back, so that the core and every replay can do without it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec.structs import force_setattr, replace

from rondel.engine import ticks
from rondel.engine.core.effects import Command, Judge, Leave, Route
from rondel.engine.core.said import Said
from rondel.engine.core.step import Step
from rondel.engine.emit import UNCHANGED
from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Lock, Nothing, Outcome, Suspend, Usage
from rondel.engine.shell.binding import UNALTERED, Binding, processed
from rondel.engine.shell.budget_gate import OverBudget
from rondel.engine.shell.context import StepContext
from rondel.engine.shell.exits import Halted, confined
from rondel.engine.shell.shell import Shell
from rondel.engine.shell.wrapping import describe
from rondel.engine.ticks import Altered, Finished
from rondel.errors import StepFailed, StepTimeout

NODES_OWN: Final = (Exception, asyncio.CancelledError)
"""What is a node's own error, if nobody has cancelled its step."""

FINISHED: Final = Finished
MESSAGE: Final = Message
SIGN: Final = force_setattr
"""Known to compiled code without a look for their names."""

NO_USAGE: Final[list[Usage]] = []
NO_ERRORS: Final[list[str]] = []
"""Shared by all ticks that have none; no tick is ever changed."""


Ended = tuple[Finished | Said, float, tuple[Message, ...], tuple[int, ...], Altered]
"""The end of a step: its tick, and of that the time, the messages, the edges that fired and what
they altered, so that whoever has it at hand need not read it again."""


class Executor:
    """Turns commands into ticks; all sessions of a binding share it."""

    __slots__ = ("_binding", "_clock", "_nodes")

    def __init__(self, binding: Binding, clock: Callable[[], float]) -> None:
        self._binding = binding
        self._nodes = binding.nodes
        self._clock = clock

    def is_immediate(self, command: Command) -> bool:
        """Whether it can be done in place, as far as one can know before."""
        return type(command) is not Step or not self._nodes[command.node.index].waits

    def perform(self, command: Command, shell: Shell, now: float) -> ticks.AnyTick | StepContext:
        """Do what the core asks for; the tick says what came of it, if that is known at once."""
        if not isinstance(command, Step):
            return self.decide(command, shell)
        ctx = StepContext(command, shell, now)
        try:
            outcome = self.begin(ctx)
            return ctx if isinstance(outcome, StepContext) else self.conclude(ctx, outcome)
        except BaseException as error:
            return self.explain(ctx, error)

    def begin(self, ctx: StepContext) -> Outcome | Lock | StepContext:
        """Call a step's node; its context comes back if the node waits, for `ctx.call`."""
        bound = self._nodes[ctx.step.node.index]
        outcome = bound.begin(ctx)  # type: ignore[misc]
        if type(outcome) is Emit:
            return outcome
        if outcome is not None and (bound.waits or inspect.isawaitable(outcome)):
            ctx.call = outcome
            return ctx
        return outcome  # type: ignore[return-value]

    def finish(self, ctx: StepContext, result: Any) -> Outcome | Lock:
        """The outcome of a step whose node waited for this."""
        finish = self._nodes[ctx.step.node.index].finish
        return result if finish is None else finish(result, ctx)

    def decide(self, command: Route | Judge | Leave, shell: Shell) -> ticks.AnyTick:
        """Do what is no step."""
        if isinstance(command, Route):
            return self._route(command, shell)
        if isinstance(command, Judge):
            return self._judge(command)
        return self._leave(command)

    def conclude(self, ctx: StepContext, outcome: Outcome | Lock) -> ticks.AnyTick:
        """The tick of a step whose node has come to this."""
        if type(outcome) is Emit:
            return at_length(self.end(ctx, outcome)[0])
        return self._other_outcome(ctx.step, ctx, outcome)

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

    def end(self, ctx: StepContext, outcome: Emit) -> Ended:
        """The end of a step that emitted something."""
        step = ctx.step
        bound = self._nodes[step.node.index]
        messages = _signed(step, bound.source, outcome.messages)
        if bound.plain and messages:
            fired, altered = bound.all_edges, UNALTERED
        else:
            fired, altered = bound.route(step, outcome, messages)
        now = self._clock()
        took = int((now - ctx.now) * 1e6 + 0.5) / 1e6  # `round` takes ten times as long
        count = len(messages)  # compared in place, the tuple would be taken apart and made again
        if count == 1 and not altered and _is_all(ctx, outcome):
            said = Said(now, step.number, messages[0], fired, took)
            return said, now, messages, fired, altered
        tick = FINISHED(
            now,
            step.number,
            messages,
            fired,
            altered,
            outcome.state,
            outcome.verdict,
            outcome.report,
            ctx.usage or NO_USAGE,
            took,
            ctx.retried or NO_ERRORS,
        )
        return tick, now, messages, fired, altered

    def _other_outcome(
        self, step: Step, ctx: StepContext, outcome: Outcome | Lock
    ) -> ticks.AnyTick:
        now = self._clock()
        match outcome:
            case Emit():
                return at_length(self.end(ctx, outcome)[0])
            case Nothing():
                return ticks.Finished(
                    now,
                    step.number,
                    state=outcome.state,
                    verdict=outcome.verdict,
                    report=outcome.report,
                    usage=ctx.usage or [],
                    took=round(now - ctx.now, 6),
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

    def _failed(self, step: Step, ctx: StepContext, error: BaseException) -> ticks.Failed:
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

    def _route(self, command: Route, shell: Shell) -> ticks.AnyTick:
        """Send an inner graph's output along the edges of its node."""
        step = command.step
        ctx = StepContext(step, shell, self._clock())
        try:
            return at_length(self.end(ctx, Emit(command.messages))[0])
        except BaseException as error:
            return self.explain(ctx, error)

    def _judge(self, command: Judge) -> ticks.AnyTick:
        """See whether a loop has what it goes on for."""
        frame = command.frame
        until = frame.scope.contract.until
        try:
            held = until is not None and self._binding.term(until)(
                command.data, command.text, frame.round, frame.value
            )
        except BaseException as raised:
            error = _owned(raised)
            text = f"the contract of loop {frame.scope.name!r} failed: {describe(error)}"
            return ticks.Aborted(self._clock(), "contract_failed", text)
        return ticks.Judged(self._clock(), frame.entry, held)

    def _leave(self, command: Leave) -> ticks.AnyTick:
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


def _is_all(ctx: StepContext, outcome: Emit) -> bool:
    """Whether a step has nothing to tell but what it said."""
    if outcome.verdict is not None or outcome.report is not None:
        return False
    return outcome.state is UNCHANGED and ctx.usage is None and ctx.retried is None


def _owned(error: BaseException) -> Exception:
    """An error of code in the graph; one that is not is raised again."""
    found = confined(error)
    if isinstance(found, Exception):
        return found
    raise found


def at_length(tick: Finished | Said) -> Finished:
    """The tick of the end of a step."""
    return tick.tick if isinstance(tick, Said) else tick


def _leaves(group: BaseExceptionGroup[OverBudget] | None) -> Iterator[OverBudget]:
    for error in () if group is None else group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _no_message(step: Step, emitted: object) -> StepFailed:
    name = type(emitted).__name__
    return StepFailed(f"node {step.node.id!r} emitted {name}; Emit takes a list of Message")
