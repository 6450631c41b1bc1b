"""The pure fold: a tick and the state so far give the next state and what to do.

No clock, no I/O, no asyncio, no node types. The shell journals a tick, applies it here, and
carries out `commands`; replay, recovery and every watcher apply the same ticks to a core of
their own and get the same state. With `effects` given, the core also notes down what happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, assert_never

from rondel.engine import ticks
from rondel.engine.core.effects import (
    Command,
    Effect,
    Judge,
    Leave,
    Route,
    StatusChanged,
    StepStarted,
    StepTicked,
)
from rondel.engine.core.failure import Failure
from rondel.engine.core.frame import Frame
from rondel.engine.core.handover import Handover
from rondel.engine.core.limits import NO_QUESTIONS, NOBODY
from rondel.engine.core.loop_end import LoopEnd
from rondel.engine.core.queue import Queue
from rondel.engine.core.ruling import Ruling
from rondel.engine.core.step import Step
from rondel.engine.emit import UNCHANGED
from rondel.engine.message import Message, task_message
from rondel.engine.protocols import Usage, Verdict
from rondel.engine.ticks import Altered, Finished
from rondel.graph.plan import Group, Plan, PlanNode, Scope
from rondel.graph.reasons import (
    BREAKER_TRIPPED,
    BUDGET_EXHAUSTED,
    CANCELLED,
    EXIT_EDGE,
    FAILED,
)

TAKEN_UP: Final = (ticks.Resumed, ticks.Forked)
"""Ticks before which nobody ran the session."""

NOTHING_SPENT: Final = Usage()

NO_INPUTS: Final[dict[str, Any]] = {}
"""Those of a session that has not begun; shared by all and never changed."""

NOT_DEBUGGED: Final[frozenset[str]] = frozenset()

ENDED: Final = frozenset({"completed", "bounded", "failed", "cancelled"})


class Core(Handover):
    """The state of one session, and the rules by which ticks change it."""

    def __init__(self, plan: Plan, effects: list[Effect] | None = None) -> None:
        super().__init__(plan, effects)
        self.inputs = NO_INPUTS
        self.status = "pending"
        self.running = False
        self.reason = ""
        self.message = ""
        self.signals: dict[str, Any] = {}
        self.spent = NOTHING_SPENT
        """What all model calls so far took together."""
        self.calls = 0
        self.own, self.own_calls = NOTHING_SPENT, 0
        """The same without what another session spent whose past this one shares."""
        self._nodes = plan.nodes
        self._max_steps = plan.max_steps
        self._longest = plan.spec.limits.budget.wall_time
        self.started_at = 0.0
        self.last_at = 0.0
        self.idle = 0.0
        """Seconds the session has spent waiting, paused, locked or without a process."""
        self.step_count = 0
        self.root: Frame | None = None
        self.paused = False
        self.pause_reason = ""
        self.debug = NOT_DEBUGGED
        self.free = False
        self.lock: ticks.Locked | None = None
        self.failure: Failure | None = None
        """What the failure of a step has ended, for a session that may go on from there."""

    # The fold

    def apply(self, tick: ticks.AnyTick) -> Queue:
        """Fold one tick in; the commands are what must be done because of it."""
        self.commands.clear()
        running = self.running
        if running and isinstance(tick, Finished):
            if tick.usage:
                self._spend(tick.step, tick.usage)
            self._read_end(tick)
            return self.commands
        self._apply_rare(tick, running=running)
        if not self.running or self.questions or self.paused or self.lock:
            self._update_status()
        return self.commands

    def _apply_rare(self, tick: ticks.AnyTick, *, running: bool) -> None:
        if type(tick) in TAKEN_UP or not (running or self.status == "pending"):
            self.idle += tick.at - self.last_at
        self.last_at = tick.at
        if isinstance(tick, ticks.Spending) and tick.usage:
            self._spend(tick.step, tick.usage)
        match tick:
            case ticks.Started():
                self._begin_session(tick)
            case ticks.Finished():
                self._read_end(tick)
            case ticks.Failed():
                self._fail_step(tick)
            case ticks.Judged():
                self._settle_all([self._decide(self.frames[tick.entry], held=tick.held)])
            case ticks.WayOut():
                frame = self.frames[tick.entry]
                self._force_out(frame, frame.ways or {}, tick.altered)
                self._settle_all([self._leave(frame, frame.ruling or Ruling(EXIT_EDGE))])
            case ticks.Suspended() | ticks.Answered() | ticks.Substepped():
                self._apply_to_step(tick)
            case ticks.Spent() | ticks.Refused():
                self._apply_spending(tick)
            case _:
                self._control(tick)

    def _apply_to_step(self, tick: ticks.Suspended | ticks.Answered | ticks.Substepped) -> None:
        match tick:
            case ticks.Suspended():
                self._suspend(tick)
            case ticks.Answered():
                self._answer(tick)
            case ticks.Substepped():
                self._keep_part(tick)

    def _apply_spending(self, tick: ticks.Spent | ticks.Refused) -> None:
        step = self.steps[tick.step]
        self._mark(StepTicked(step, tick, step.address))
        if isinstance(tick, ticks.Refused):
            self._refuse(tick)

    def _control(self, tick: ticks.Control) -> None:
        match tick:
            case ticks.Signalled():
                self.signals[tick.name] = tick.data
            case ticks.Paused() | ticks.Resumed() | ticks.Retried():
                self._pause_or_go_on(tick)
            case ticks.Locked():
                self.lock = tick
            case ticks.Unlocked():
                self._unlock()
            case ticks.Stopped():
                reason = CANCELLED if self.lock is None else BREAKER_TRIPPED
                self._end("cancelled", "stopped", f"stopped by {tick.by or 'the user'}", reason)
            case ticks.Forked():
                self.own, self.own_calls = NOTHING_SPENT, 0
                self._unlock()
            case ticks.Noted():
                pass
            case ticks.Aborted():
                self._break_off(None, tick.reason, tick.message)
            case _:
                assert_never(tick)

    def _pause_or_go_on(self, tick: ticks.Paused | ticks.Resumed | ticks.Retried) -> None:
        if isinstance(tick, ticks.Paused):
            self.paused = True
            return
        self.paused, self.pause_reason = False, ""
        if isinstance(tick, ticks.Retried):
            self._retry()
        elif tick.free:
            self.free = True
        self._begin_halted()

    def _unlock(self) -> None:
        self.lock = None
        if self.root is not None and self.root.open == 0 and not self.ended:
            self._end_session(self.root)

    def todo(self) -> list[Command]:
        """Everything that is under way: what a process that takes the session over must do."""
        commands: list[Command] = []
        for step in self.steps.all():
            if step.routing is not None:
                commands.append(Route(step, step.routing))
            elif not self._is_waiting(step):
                commands.append(step)
        for frame in self.frames.values():
            if frame.ways is not None:
                commands.append(Leave(frame, frame.ways))
            elif frame.judging:
                commands.append(Judge(frame, *frame.hear()))
        return commands

    @property
    def active(self) -> float:
        """Seconds the session has run so far, waiting excluded."""
        return self.last_at - self.started_at - self.idle

    @property
    def next_deadline(self) -> float | None:
        """When the first open question expires."""
        deadlines = [q.deadline for q in self.questions.values() if q.deadline is not None]
        return min(deadlines, default=None)

    def asker(self, question: int) -> tuple[PlanNode, str]:
        """Who asks an open question, and where: a step's node, or the head of a loop."""
        if question > 0:
            step = self.steps[question]
            return step.node, step.address
        frame = self.frames[-question]
        return self.plan.nodes[frame.scope.head or 0], frame.address

    @property
    def output(self) -> Sequence[Message] | None:
        """What the first end node with output produced."""
        return None if self.root is None else self.outputs.of(self.root)

    @property
    def loops(self) -> list[LoopEnd]:
        """How the last entry of every loop ended, in the order of the heads in the file."""
        return [self.endings.last[head] for head in sorted(self.endings.last)]

    def _spend(self, step: int, usage: list[Usage]) -> None:
        """Enter model calls of a step into the totals of all that is around it."""
        self.calls += len(usage)
        self.own_calls += len(usage)
        self.spent = _added(self.spent, usage)
        self.own = _added(self.own, usage)
        more = _added(NOTHING_SPENT, usage)
        tokens, usd = more.tokens, more.usd
        frame: Frame | None = self.steps[step].frame
        while frame is not None:
            frame.progress.tokens += tokens
            frame.progress.usd += usd
            frame = frame.parent

    # Sessions and graphs

    def _begin_session(self, tick: ticks.Started) -> None:
        self.inputs = tick.inputs
        if tick.debug:
            self.debug = frozenset(tick.debug)
        self.started_at = tick.at
        self._change_status("running", "")
        self.root = self._enter_graph(self.plan.root, None, [task_message(tick.inputs)])

    def _enter_graph(self, scope: Scope, owner: Step | None, messages: Iterable[Message]) -> Frame:
        frame = self._frame(scope, owner.frame if owner else None, owner)
        frame.begin_round()
        for start in scope.starts:
            transcript = self.contexts.of(start)
            for index, message in enumerate(messages):
                transcript.put((frame.prefix, 0, 0, -1, index, message, None))
            item = scope.item_of[start]
            group = scope.items[item]
            if isinstance(group, Group):
                frame.own_hits()[item] = {start: set(range(-group.quorum[start], 0))}
            frame.own_fired()[item] = scope.quorum[item]
        ready = [item for item, waits in enumerate(scope.waits) if waits == 0]
        self._settle_all([(frame, item) for item in ready if not self._begin(frame, item)])
        return frame

    def _leave_graph(self, frame: Frame) -> None:
        if frame.owner is None:
            self._end_session(frame)
            return
        self.contexts.forget(frame.scope.nodes, private=frame.scope.dialect.state_per_call)
        del self.frames[frame.entry]
        if self._is_cut(frame):
            self._drop(frame.owner.number)
            return
        produced = self.outputs.of(frame)
        self.outputs.note_graph(frame.owner.node, produced)
        frame.owner.routing = (produced[-1],) if produced else ()
        self.commands.put(Route(frame.owner, frame.owner.routing))

    def _end_session(self, frame: Frame) -> None:
        if self.lock is not None:
            return  # nothing is left to do, but somebody must have seen it: `_unlock` ends it
        if self.outputs.of(frame) is None:
            why = self.outputs.why_none(frame, self.plan)
            cut = self.endings.cut_first_round
            self._end("failed", BUDGET_EXHAUSTED if cut else "no_output", why + cut, FAILED)
        else:
            self._end("bounded" if self.endings.bounded else "completed", "", "", FAILED)

    def _end(self, status: str, reason: str, message: str, loop_reason: str) -> None:
        """The session is over; loops still under way end with it, innermost first."""
        for frame in sorted(self.frames.values(), key=lambda f: -f.entry):
            if frame.scope.head is not None:
                self._record_end(frame, Ruling(loop_reason))
        self.frames.clear()
        self.steps.clear()
        self.questions, self.parked = NO_QUESTIONS, NOBODY
        self.commands.clear()
        self.message = message
        self._change_status(status, reason)

    def _break_off(self, step: Step | None, reason: str, message: str) -> None:
        """End the session because something in it failed; `_retry` takes it up from here."""
        failure = Failure(
            step,
            list(self.frames.values()),
            self.steps.all(),
            self.questions,
            self.parked,
            dict(self.endings.last),
            dict(self.endings.by_loop),
        )
        self._end("failed", reason, message, FAILED)
        self.failure = failure

    def _retry(self) -> None:
        """Go on where something failed: all that was under way then is under way again."""
        failure, self.failure = self.failure, None
        if failure is None:
            return
        self.frames = {frame.entry: frame for frame in failure.frames}
        for step in (failure.step, *failure.steps):
            if step is not None:
                self.steps.add(step)
        self.questions, self.parked = failure.questions, failure.parked
        self.endings.last, self.endings.by_loop = failure.ends, failure.ends_by_loop
        self.message = ""
        self._change_status("running", "")
        if failure.step is not None:
            self._mark(StepStarted(failure.step, failure.step.address))
        self.commands.put_all(self.todo())

    def _update_status(self) -> None:
        if self.ended or self.root is None:
            return
        if self.lock is not None:
            self._change_status("suspended_locked", self.lock.reason)
        elif self.paused:
            self._change_status("paused", self.pause_reason)
        elif self.questions and self._is_idle():
            self._change_status("waiting", "question_open")
        else:
            self._change_status("running", "")

    def _is_idle(self) -> bool:
        """Whether nothing is to be done until somebody outside does something."""
        busy = any(frame.judging or frame.ways is not None for frame in self.frames.values())
        return not busy and all(self._is_waiting(step) for step in self.steps.all())

    def _is_waiting(self, step: Step) -> bool:
        inside = step.node.inner is not None and step.routing is None
        return inside or step.number in self.questions or step.number in self.parked

    def _change_status(self, status: str, reason: str) -> None:
        if status == self.status and reason == self.reason:
            return
        self.status = status
        self.reason = reason
        self.running = status == "running"
        self.ended = status in ENDED
        self._mark(StatusChanged(status, reason))

    # Steps

    def _start(
        self,
        frame: Frame,
        item: int,
        node: int,
        visit: int = 1,
        given: tuple[Message, ...] | None = None,
    ) -> None:
        number = self.step_count + 1
        if number > self._max_steps:
            self._end("failed", "max_steps_reached", _over_limit(self._max_steps), FAILED)
            return
        if self._longest is not None and self.active >= self._longest:
            self._exhaust()
            return
        self.step_count = number
        scope = frame.scope
        level = scope.levels[item] if visit == 1 else scope.last_level + 1
        plan_node = self._nodes[node]
        transcript = self.contexts.of(node)
        if given is None:
            seen, new = transcript.take(number)
        else:
            seen = new = given
        around = frame.round
        step = Step(number, plan_node, frame, item, level, around, visit, transcript, seen, new)
        self.steps.add(step)
        if self.effects is not None:
            self.effects.append(StepStarted(step, step.address))
        if plan_node.inner is None:
            self.commands.put(step)
        else:
            self._enter_graph(plan_node.inner, step, step.inputs)

    def _read_end(self, tick: Finished) -> None:
        step, messages, private = self.steps[tick.step], tick.messages, tick.state
        fired, altered, verdict = tick.fired, tick.altered, tick.verdict
        self.finish(step, tick, tick.at, messages, fired, altered, private, verdict)

    def finish(
        self,
        step: Step,
        tick: Finished | None,
        now: float,
        messages: tuple[Message, ...],
        fired: tuple[int, ...],
        altered: Altered,
        private: Any,
        verdict: Verdict | None,
    ) -> None:
        """Fold in the end of a step, with what its tick says at hand.

        What must be done because of it is added to `commands`. The tick is for those who watch.
        """
        self.last_at = now
        self.steps.remove(step.number)
        transcript = step.transcript
        if private is not UNCHANGED:
            transcript.private = private
        if transcript.remembers:
            transcript.retain(step.inputs, messages, step.number)
        if transcript.recalls and messages and step.frame.loop_entry:
            transcript.note_own(messages, step.frame.loop_entry)
        if self.effects is not None:
            self.effects.append(StepTicked(step, tick, step.address))
        if verdict is not None:
            self._take_verdict(step, verdict)
        if messages and step.frame.scope.gauges:
            step.frame.hear_step(step, messages)
        self._pass_on(step, messages, fired, altered)
        if not self.running or self.questions or self.paused:
            self._update_status()

    def _fail_step(self, tick: ticks.Failed) -> None:
        step = self.steps[tick.step]
        self.steps.remove(tick.step)
        self.questions.pop(tick.step, None)
        self._mark(StepTicked(step, tick, step.address))
        if step.node.spec.on_error == "fail":
            self._break_off(step, "step_failed", f"{step.address}: {tick.error}")
            return
        step.transcript.retain(step.inputs, (), step.number)
        self._after(step)

    def _suspend(self, tick: ticks.Suspended) -> None:
        step = self.steps[tick.step]
        step.answer = None
        if tick.state is not UNCHANGED:
            step.transcript.private = tick.state
        self._open(tick.step, tick.question)
        self._mark(StepTicked(step, tick, step.address))

    def _answer(self, tick: ticks.Answered) -> None:
        if tick.step < 0:
            self._answer_loop(tick)
            return
        step = self.steps[tick.step]
        del self.questions[tick.step]
        step.answer = tick.answer
        self.commands.put(step)
        self._mark(StepTicked(step, tick, step.address))

    def _drop(self, number: int) -> None:
        """A step ends without an output."""
        step = self.steps[number]
        self.steps.remove(number)
        step.transcript.retain(step.inputs, (), step.number)
        self._after(step)

    def _keep_part(self, tick: ticks.Substepped) -> None:
        step = self.steps[tick.step]
        if step.parts is None:
            step.parts = {}
        step.parts[tick.name] = tick.value
        self._mark(StepTicked(step, tick, step.address))


def _added(total: Usage, calls: list[Usage]) -> Usage:
    """What model calls took with those before them, added one by one.

    `sum` adds more exactly in newer interpreters: there a total of totals is not the sum of all.
    """
    given, received = total.input_tokens, total.output_tokens
    usd, duration = total.usd, total.duration
    for call in calls:
        given += call.input_tokens
        received += call.output_tokens
        usd += call.usd
        duration += call.duration
    return Usage("", given, received, usd, duration)


def _over_limit(limit: int) -> str:
    return f"the run reached its limit of {limit} steps; raise graph.limits.max_steps"
