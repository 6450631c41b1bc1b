"""Steps: they start, they are asked, they end, and what they produced goes along their edges."""

from __future__ import annotations

from collections.abc import Sequence

from rondel.engine import ticks
from rondel.engine.core.contract import Ruling
from rondel.engine.core.effects import StepStarted, StepTicked
from rondel.engine.core.ends import break_off, end_over_budget, fail_session, note_own_rounds
from rondel.engine.core.expansion import end_part
from rondel.engine.core.frame import Frame
from rondel.engine.core.state import NO_NODES, NO_QUESTIONS, NOTHING_SPENT, SessionState
from rondel.engine.core.step import Step
from rondel.engine.core.transcript import Delivery
from rondel.engine.core.work import DONE, GraphReached, ItemSettled, LoopLeft, Work
from rondel.engine.emit import UNCHANGED
from rondel.engine.message import Message
from rondel.engine.protocols import Question, Usage
from rondel.engine.ticks import Altered, Finished
from rondel.graph.plan import HEAD, PlanNode, ScopedEdge
from rondel.graph.spec import EXIT_EDGE

# They start


def start_step(
    state: SessionState, frame: Frame, item: int, node: int, visit: int = 1
) -> list[Work]:
    """Run a node on what was delivered to it, if the limits of the run allow it."""
    frame.busy += 1
    number = state.step_count + 1
    if number > state.plan.max_steps:
        limit = state.plan.max_steps
        text = f"the run reached its limit of {limit} steps; raise graph.limits.max_steps"
        fail_session(state, "max_steps_reached", text)
        return DONE
    longest = state.plan.max_wall_time
    if longest is not None and state.active >= longest:
        end_over_budget(state)
        return DONE
    state.step_count = number
    scope = frame.scope
    level = scope.levels[item] if visit == 1 else scope.last_level + 1
    plan_node = state.plan.nodes[node]
    transcript = state.transcripts.of(node)
    seen, new = transcript.take(number)
    step = Step(number, plan_node, frame, item, level, frame.round, visit, transcript, seen, new)
    state.steps[number] = step
    if state.effects is not None:
        state.effects.append(StepStarted(step, step.address))
    if plan_node.inner is not None:
        if not _is_fanned(state, plan_node):
            return [GraphReached(step)]
        step.unexpanded = True
    state.commands.append(step)
    return DONE


def _is_fanned(state: SessionState, node: PlanNode) -> bool:
    """Whether a dynamic edge leads to the node."""
    return any(state.plan.edges[edge].spec.dynamic is not None for edge in node.into)


# They are under way


def suspend(state: SessionState, tick: ticks.Suspended) -> None:
    """A step asks a question and waits for the answer."""
    step = state.steps[tick.step]
    step.answer = None
    if tick.state is not UNCHANGED:
        if step.part:
            step.private = tick.state
        else:
            step.transcript.private = tick.state
    ask(state, tick.step, tick.question)
    state.mark(StepTicked(step, tick, step.address))


def ask(state: SessionState, asker: int, question: Question) -> None:
    """Open a question of a step, or of a loop."""
    if state.questions is NO_QUESTIONS:
        state.questions = {}
    state.questions[asker] = question


def answer_step(state: SessionState, tick: ticks.Answered) -> None:
    """A step has its answer: it runs again."""
    step = state.steps[tick.step]
    del state.questions[tick.step]
    step.answer = tick.answer
    state.commands.append(step)
    state.mark(StepTicked(step, tick, step.address))


def keep_part(state: SessionState, tick: ticks.Substepped) -> None:
    """A part of a step is done."""
    step = state.steps[tick.step]
    if step.parts is None:
        step.parts = {}
    step.parts[tick.name] = tick.value
    state.mark(StepTicked(step, tick, step.address))


def enter_spending(state: SessionState, number: int, usage: list[Usage]) -> None:
    """Enter model calls of a step into the totals of all that is around it."""
    state.calls += len(usage)
    state.own_calls += len(usage)
    state.spent = _added(state.spent, usage)
    state.own = _added(state.own, usage)
    more = _added(NOTHING_SPENT, usage)
    tokens, usd = more.tokens, more.usd
    for frame in state.steps[number].frame.outward():
        frame.progress.tokens += tokens
        frame.progress.usd += usd


def _added(total: Usage, calls: list[Usage]) -> Usage:
    """What model calls took with those before them, added one by one.

    `sum` adds more exactly in newer interpreters: there a total of totals is not the sum of all.
    """
    given, received = total.input_tokens, total.output_tokens
    usd, duration = total.usd, total.duration
    cached, reasoning = total.cached_tokens, total.reasoning_tokens
    for call in calls:
        given += call.input_tokens
        received += call.output_tokens
        usd += call.usd
        duration += call.duration
        cached += call.cached_tokens
        reasoning += call.reasoning_tokens
    return Usage("", given, received, usd, duration, cached, reasoning)


# They end


def finish_step(state: SessionState, tick: Finished) -> list[Work]:
    """A step is over: its node keeps what it should, and its messages go along its edges."""
    number = tick.step
    step = state.steps[number]
    del state.steps[number]
    if step.part:
        state.mark(StepTicked(step, tick, step.address))
        return end_part(state, step, tick)
    frame, messages, fired = step.frame, tick.messages, tick.fired
    _remember(step, messages, tick.state)
    if state.effects is not None:
        state.effects.append(StepTicked(step, tick, step.address))
    verdict = tick.verdict
    if verdict is not None and verdict.own:
        note_own_rounds(state, step.node.index, verdict)
    elif verdict is not None:
        frame.take_verdict(verdict, step.level, step.item)
    if messages and frame.scope.scores:
        frame.hear_step(step, messages)
    if not fired or state.unrouted or step.node.is_end:
        _note_output(state, step, messages, fired=bool(fired))
    tracked = frame.scope.tracked[step.item]
    if tracked:
        frame.track(tracked, (frame.prefix, step.round, step.level, messages))
    altered = tick.altered
    if fired or altered:
        _send(state, step, messages, fired, altered)
    return _after(step)


def fail_step(state: SessionState, tick: ticks.Failed) -> list[Work]:
    """A step failed for good: the session with it, or it goes on without an output."""
    step = state.steps[tick.step]
    state.questions.pop(tick.step, None)
    state.mark(StepTicked(step, tick, step.address))
    if step.node.spec.on_error == "fail":
        del state.steps[tick.step]
        break_off(state, step, "step_failed", f"{step.address}: {tick.error}")
        return DONE
    return drop_step(state, tick.step)


def drop_step(state: SessionState, number: int) -> list[Work]:
    """A step ends without an output."""
    step = state.steps.pop(number)
    if step.part:
        return end_part(state, step, None)
    step.transcript.retain(step.inputs, (), step.number)
    return _after(step)


def _remember(step: Step, messages: tuple[Message, ...], private: object) -> None:
    transcript = step.transcript
    if private is not UNCHANGED:
        transcript.private = private
    if transcript.remembers:
        transcript.retain(step.inputs, messages, step.number)
    if transcript.recalls and messages and step.frame.loop_entry:
        transcript.note_own(messages, step.frame.loop_entry)


def _note_output(
    state: SessionState, step: Step, messages: tuple[Message, ...], *, fired: bool
) -> None:
    """Keep what an end node produced, and which nodes' messages no edge took.

    It changes nothing where edges fired, every node found an edge, and the node is no end.
    """
    node = step.node
    if messages and node.is_end:
        step.frame.graph_frame().keep_output(node.index, messages)
    if messages and not fired and node.out:
        if state.unrouted is NO_NODES:
            state.unrouted = {}
        state.unrouted[node.index] = None
    elif state.unrouted:
        state.unrouted.pop(node.index, None)


def _send(
    state: SessionState,
    step: Step,
    messages: tuple[Message, ...],
    fired: tuple[int, ...],
    altered: Altered,
) -> None:
    """Deliver messages along the edges that fired, and count these for whoever waits for them."""
    frame = step.frame
    scoped_edges = frame.scope.scoped_edges[step.item]
    for edge, changed in altered.items():
        if edge not in fired and scoped_edges[edge].touches:
            _deliver(state, step, scoped_edges[edge], changed)
    for edge in fired:
        scoped = scoped_edges[edge]
        if frame.leaving and scoped.trigger and not scoped.hops:
            continue
        if scoped.touches:
            _deliver(state, step, scoped, altered.get(edge) or messages)
        if not scoped.near:
            if scoped.trigger:
                frame.pull(scoped)
        elif scoped.item == HEAD:
            frame.retriggered = True
        else:
            frame.fired[scoped.item] += 1


def _deliver(
    state: SessionState, step: Step, scoped: ScopedEdge, messages: Sequence[Message | None]
) -> None:
    prefix, transcript = step.frame.prefix, state.transcripts.of(scoped.target)
    for number, message in enumerate(messages):
        sent = message if scoped.carry else None
        transcript.put(
            Delivery(prefix, step.round, step.level, scoped.edge, number, sent, scoped.marked)
        )


def _after(step: Step) -> list[Work]:
    frame = step.frame
    frame.busy -= 1
    if frame.leaving:
        return [LoopLeft(frame, Ruling(EXIT_EDGE))]
    return [ItemSettled(frame, step.item)]
