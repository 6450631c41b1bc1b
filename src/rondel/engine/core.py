"""The pure fold: a tick and the state so far give the next state and what to do.

No clock, no I/O, no asyncio, no node types. The shell journals a tick, applies it here, and
carries out `commands`; replay, recovery and every watcher apply the same ticks to a core of
their own and get the same state. With `effects` given, the core also notes down what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, assert_never

import msgspec

from rondel.engine import ticks
from rondel.engine.effects import (
    Command,
    Effect,
    Leave,
    LoopEnded,
    RoundEnded,
    RoundStarted,
    Route,
    Skipped,
    StatusChanged,
    StepStarted,
    StepTicked,
)
from rondel.engine.message import Message
from rondel.engine.protocols import Question, Verdict
from rondel.engine.state import Emission, Frame, LoopEnd, NodeState, Step, address_of
from rondel.engine.transcript import Delivery, Transcript
from rondel.graph.plan import HEAD, Group, Plan, Scope, Wire

TASK = "TASK"
"""The source of the message that start nodes get."""

EXIT_EDGE = "exit_edge"
MAX_ROUNDS = "max_rounds_reached"
NO_RETRIGGER = "no_retrigger"
CANCELLED = "cancelled"
FAILED = "failed"

SETTLED = -1
"""What an item waits for once it is over."""

ENDED = frozenset({"completed", "bounded", "failed", "cancelled"})


class Core:
    """The state of one session, and the rules by which ticks change it."""

    def __init__(
        self,
        plan: Plan,
        effects: list[Effect] | None = None,
        measure: Callable[[Message], float | None] | None = None,
    ) -> None:
        self.plan = plan
        self.effects = effects
        self._measure = measure
        self.commands: list[Command] = []
        self.inputs: dict[str, Any] = {}
        self.status = "pending"
        self.reason = ""
        self.message = ""
        self.steps: dict[int, Step] = {}
        self.questions: dict[int, Question] = {}
        self.loops: dict[str, LoopEnd] = {}
        self.started_at = 0.0
        self.last_at = 0.0
        self.idle = 0.0
        """Seconds the session has spent waiting, paused, locked or without a process."""
        self.step_count = 0
        self._entry_count = 0
        self._nodes: list[NodeState | None] = [None] * len(plan.nodes)
        self._root: Frame | None = None
        self._frames: dict[int, Frame] = {}
        self._ends = frozenset(end for scope in _graphs(plan) for end in scope)
        self._stuck: dict[int, None] = {}
        self._bounded: dict[tuple[int, ...], bool] = {}
        """By loop, whichever its head: whether its last entry missed its goal."""
        self._paused = False
        self._lock: ticks.Locked | None = None

    # The fold

    def apply(self, tick: ticks.AnyTick) -> list[Command]:
        """Fold one tick in; the commands are what must be done because of it."""
        self.commands = []
        if self.status not in ("running", "pending"):
            self.idle += tick.at - self.last_at
        self.last_at = tick.at
        if isinstance(tick, ticks.Finished):
            self._finish(tick)
        else:
            self._apply_rare(tick)
        if self.status != "running" or self.questions or self._paused or self._lock:
            self._update_status()
        return self.commands

    def _apply_rare(self, tick: ticks.AnyTick) -> None:
        match tick:
            case ticks.Started():
                self._begin_session(tick)
            case ticks.Failed():
                self._fail_step(tick)
            case ticks.Suspended():
                self._suspend(tick)
            case ticks.Answered():
                self._answer(tick)
            case ticks.WayOut():
                frame = self._frames[tick.entry]
                self._force_out(frame, frame.emitted, tick.altered)
                self._settle_all([self._leave(frame, MAX_ROUNDS)])
            case ticks.Finished():
                self._finish(tick)
            case _:
                self._control(tick)

    def _control(self, tick: ticks.Control) -> None:
        match tick:
            case ticks.Paused():
                self._paused = True
            case ticks.Resumed():
                self._paused = False
            case ticks.Locked():
                self._lock = tick
            case ticks.Unlocked():
                self._lock = None
            case ticks.Stopped():
                self._end("cancelled", "stopped", f"stopped by {tick.by or 'the user'}", CANCELLED)
            case ticks.Aborted():
                self._end("failed", tick.reason, tick.message, FAILED)
            case _:
                assert_never(tick)

    def todo(self) -> list[Command]:
        """Everything that is under way: what a process that takes the session over must do."""
        commands: list[Command] = []
        for step in self.steps.values():
            if step.routing is not None:
                commands.append(Route(step, step.routing))
            elif not self._is_waiting(step):
                commands.append(step)
        for frame in self._frames.values():
            if frame.at_limit:
                commands.append(Leave(frame, frame.emitted))
        return commands

    @property
    def ended(self) -> bool:
        """Whether the session is over."""
        return self.status in ENDED

    @property
    def outputs(self) -> Iterable[list[Message]]:
        """What the end nodes last produced, in the order of the graph's `end`."""
        frame = self._root
        if frame is None:
            return []
        return [frame.outputs[end] for end in frame.scope.ends if end in frame.outputs]

    def node_state(self, node: int) -> NodeState:
        """What a node carries through the session."""
        state = self._nodes[node]
        if state is None:
            state = self._nodes[node] = NodeState(self.plan.nodes[node].window)
        return state

    # Sessions and graphs

    def _begin_session(self, tick: ticks.Started) -> None:
        self.inputs = tick.inputs
        self.started_at = tick.at
        self._change_status("running", "")
        task = tick.inputs.get("task", "")
        content = task if isinstance(task, str) else msgspec.json.encode(task).decode()
        message = Message(content=content, data=tick.inputs, role="user", source=TASK)
        self._root = self._enter_graph(self.plan.root, None, [message])

    def _enter_graph(self, scope: Scope, owner: Step | None, messages: Iterable[Message]) -> Frame:
        frame = self._frame(scope, owner.frame if owner else None, owner)
        frame.begin_round()
        for start in scope.starts:
            inbox = self.node_state(start).transcript.inbox
            for index, message in enumerate(messages):
                inbox.append(Delivery(frame.prefix, 0, 0, -1, index, message, None))
            item = scope.item_of[start]
            group = scope.items[item]
            if isinstance(group, Group):
                frame.votes[item] = {start: set(range(-group.quorum[start], 0))}
            frame.fired[item] = scope.quorum[item]
        ready = [item for item, waits in enumerate(scope.waits) if waits == 0]
        self._settle_all([(frame, item) for item in ready if not self._begin(frame, item)])
        return frame

    def _leave_graph(self, frame: Frame) -> None:
        if frame.owner is None:
            self._end_session(frame)
            return
        self._forget_contexts(frame.scope.nodes)
        del self._frames[frame.entry]
        outputs = [frame.outputs[end] for end in frame.scope.ends if end in frame.outputs]
        produced = next((o for o in outputs if o and not o[-1].empty), None)
        frame.owner.routing = [produced[-1] if produced else Message()]
        self.commands.append(Route(frame.owner, frame.owner.routing))

    def _end_session(self, frame: Frame) -> None:
        if not any(output and not output[-1].empty for output in self.outputs):
            self._end("failed", "no_output", self._why_no_output(frame), FAILED)
            return
        bounded = any(self._bounded.values())
        self._end("bounded" if bounded else "completed", "", "", FAILED)

    def _why_no_output(self, frame: Frame) -> str:
        ends = ", ".join(repr(self.plan.nodes[end].id) for end in frame.scope.ends)
        text = f"no end node produced output ({ends})"
        if self._stuck:
            names = ", ".join(repr(self.plan.nodes[node].id) for node in self._stuck)
            text += f"; no condition held on the edges out of {names}"
        return text

    def _end(self, status: str, reason: str, message: str, loop_reason: str) -> None:
        """The session is over; loops still under way end with it, innermost first."""
        for frame in sorted(self._frames.values(), key=lambda f: -f.entry):
            if frame.scope.head is not None:
                self._record_end(frame, loop_reason)
        self._frames.clear()
        self.steps.clear()
        self.questions.clear()
        self.commands.clear()
        self.message = message
        self._change_status(status, reason)

    def _update_status(self) -> None:
        if self.ended or self._root is None:
            return
        if self._lock is not None:
            self._change_status("suspended_locked", self._lock.reason)
        elif self._paused:
            self._change_status("paused", "")
        elif self.questions and all(self._is_waiting(step) for step in self.steps.values()):
            self._change_status("waiting", "human_input_required")
        else:
            self._change_status("running", "")

    def _is_waiting(self, step: Step) -> bool:
        inside = step.node.inner is not None and step.routing is None
        return inside or step.number in self.questions

    def _change_status(self, status: str, reason: str) -> None:
        if status == self.status and reason == self.reason:
            return
        self.status = status
        self.reason = reason
        if self.effects is not None:
            self.effects.append(StatusChanged(status, reason))

    # Steps

    def _start(self, frame: Frame, item: int, node: int, visit: int = 1) -> None:
        if self.step_count >= self.plan.max_steps:
            self._end("failed", "max_steps_reached", _over_limit(self.plan.max_steps), FAILED)
            return
        self.step_count += 1
        scope = frame.scope
        level = scope.levels[item] if visit == 1 else scope.last_level + 1
        plan_node = self.plan.nodes[node]
        state = self._nodes[node] or self.node_state(node)
        step = Step(self.step_count, plan_node, frame, item, level, visit, state)
        self.steps[step.number] = step
        if self.effects is not None:
            self.effects.append(StepStarted(step))
        if plan_node.inner is None:
            self.commands.append(step)
        else:
            self._enter_graph(plan_node.inner, step, step.inputs)

    def _finish(self, tick: ticks.Finished) -> None:
        step = self.steps.pop(tick.step)
        messages = tick.messages
        if tick.state is not msgspec.UNSET:
            step.state.private = tick.state
        step.state.transcript.retain(step.inputs, messages)
        if self.effects is not None:
            self.effects.append(StepTicked(step, tick))
        frame = step.frame
        if tick.verdict is not None:
            _take_verdict(frame, step, tick.verdict)
        node = step.node.index
        if messages:
            if self._measure is not None:
                frame.note(self._measure(messages[-1]), step.level, step.item)
            if node in self._ends:
                frame.graph_frame().outputs[node] = messages
        if tick.fired or tick.altered:
            self._send(step, tick)
        self._note_stuck(node, bool(messages) and not tick.fired)
        tracked = frame.scope.tracked[step.item]
        if tracked:
            _track(step, tracked, messages)
        self._after(step)

    def _after(self, step: Step) -> None:
        frame = step.frame
        frame.busy -= 1
        if frame.leaving:
            self._settle_all([self._leave(frame, EXIT_EDGE)])
        else:
            self._settle_all([(frame, step.item)])

    def _fail_step(self, tick: ticks.Failed) -> None:
        step = self.steps.pop(tick.step)
        if self.effects is not None:
            self.effects.append(StepTicked(step, tick))
        if step.node.spec.on_error == "fail":
            self._end("failed", "step_failed", f"{step.address}: {tick.error}", FAILED)
            return
        step.state.transcript.retain(step.inputs, ())
        self._after(step)

    def _suspend(self, tick: ticks.Suspended) -> None:
        step = self.steps[tick.step]
        step.answer = None
        if tick.state is not msgspec.UNSET:
            step.state.private = tick.state
        self.questions[tick.step] = tick.question
        if self.effects is not None:
            self.effects.append(StepTicked(step, tick))

    def _answer(self, tick: ticks.Answered) -> None:
        step = self.steps[tick.step]
        del self.questions[tick.step]
        step.answer = tick.answer
        self.commands.append(step)
        if self.effects is not None:
            self.effects.append(StepTicked(step, tick))

    def _note_stuck(self, node: int, stuck: bool) -> None:
        if stuck and self.plan.nodes[node].out:
            self._stuck[node] = None
        elif self._stuck:
            self._stuck.pop(node, None)

    # Deliveries

    def _send(self, step: Step, tick: ticks.Finished) -> None:
        wires = step.frame.scope.wires[step.item]
        for edge, altered in tick.altered.items():
            if edge not in tick.fired:
                self._deliver(step, wires[edge], altered)
        for edge in tick.fired:
            wire = wires[edge]
            if step.frame.leaving and wire.trigger and not wire.hops:
                continue
            self._deliver(step, wire, tick.altered.get(edge, tick.messages))
            if wire.trigger:
                _pull(step.frame, wire)

    def _deliver(self, step: Step, wire: Wire, messages: Iterable[Message | None]) -> None:
        edge = self.plan.edges[wire.edge]
        if not edge.touches:
            return
        frame = step.frame
        inbox = (self._nodes[wire.target] or self.node_state(wire.target)).transcript.inbox
        for number, message in enumerate(messages):
            carried = message if edge.carry else None
            inbox.append(
                Delivery(frame.prefix, step.round, step.level, wire.edge, number, carried, edge)
            )

    def _drop_pending(self, nodes: Iterable[int]) -> None:
        states = self._nodes
        for node in nodes:
            state = states[node]
            if state is not None and state.transcript.inbox:
                state.transcript.inbox = []

    def _forget_contexts(self, nodes: Iterable[int]) -> None:
        """The next call of an inner graph starts with empty contexts; private state stays."""
        for node in nodes:
            state = self._nodes[node]
            if state is not None:
                state.transcript = Transcript(state.transcript.window)

    # Items of a scope

    def _settle_all(self, work: list[tuple[Frame, int] | None]) -> None:
        """Items are over: tell whoever waits for them, and see what that starts or ends."""
        barriers: list[Frame] = []
        while (work or barriers) and not self.ended:
            if not work:
                work.extend(self._next_level(barriers.pop()))
                continue
            settled = work.pop()
            if settled is None:
                continue
            frame, item = settled
            frame.open -= 1
            waits = frame.waits
            waits[item] = SETTLED
            for target, count in frame.scope.settles[item]:
                left = waits[target] - count
                waits[target] = left
                if left == 0 and not self._begin(frame, target):
                    work.append((frame, target))
            if frame.open == 0:
                work.append(self._end_round(frame))
            elif frame.scope.exit_now:
                barriers.append(frame)

    def _begin(self, frame: Frame, item: int) -> bool:
        """Every edge into the item is settled: run it, or skip it (False)."""
        scope = frame.scope
        if frame.fired[item] < scope.quorum[item]:
            return self._skip(frame, item)
        if scope.exit_now and scope.levels[item] > frame.level:
            frame.held.append(item)
            return True
        what = scope.items[item]
        if isinstance(what, Group):
            return self._enter_group(frame, item, what)
        frame.busy += 1
        self._start(frame, item, what)
        return True

    def _skip(self, frame: Frame, item: int) -> bool:
        if self.effects is not None:
            self.effects.append(Skipped(frame, frame.round, frame.scope.items[item]))
        return False

    def _next_level(self, frame: Frame) -> list[tuple[Frame, int] | None]:
        """`exit: now`: the level is over when nothing in it is under way."""
        if frame.busy or not frame.open:
            return []
        if frame.exited:
            for item, waits in enumerate(frame.waits):
                if waits != SETTLED:
                    self._skip(frame, item)
            frame.open = 0
            return [self._end_round(frame)]
        held, frame.held = frame.held, []
        frame.level = min(frame.scope.levels[item] for item in held)
        return [(frame, item) for item in sorted(held) if not self._begin(frame, item)]

    # Loops

    def _enter_group(self, parent: Frame, item: int, group: Group) -> bool:
        votes = parent.votes.get(item, {})
        heads = [node for node, edges in votes.items() if len(edges) >= group.quorum[node]]
        if not heads:
            return self._skip(parent, item)
        if len(heads) > 1:
            names = " and ".join(repr(self.plan.nodes[head].id) for head in sorted(heads))
            text = f"a loop is entered at one node, but {names} were triggered at once"
            self._end("failed", "two_entries", text, FAILED)
            return True
        parent.busy += 1
        self._next_round(self._frame(group.scope(heads[0]), parent, None))
        return True

    def _frame(self, scope: Scope, parent: Frame | None, owner: Step | None) -> Frame:
        self._entry_count += 1
        frame = Frame(self._entry_count, scope, parent, owner)
        self._frames[frame.entry] = frame
        return frame

    def _next_round(self, frame: Frame) -> None:
        frame.begin_round()
        if self.effects is not None:
            self.effects.append(RoundStarted(frame, frame.round))
        head = frame.scope.head
        assert head is not None  # noqa: S101
        frame.busy += 1
        self._start(frame, frame.scope.item_of[head], head)

    def _end_round(self, frame: Frame) -> tuple[Frame, int] | None:
        """The one point where a loop decides whether it goes on."""
        scope = frame.scope
        if scope.head is None:
            self._leave_graph(frame)
            return None
        delta = frame.close_round()
        if self.effects is not None:
            self.effects.append(RoundEnded(frame, frame.round, frame.value, delta))
        if frame.exited:
            if scope.exit_now or not frame.retriggered:
                return self._leave(frame, EXIT_EDGE)
            frame.leaving = True
            frame.busy += 1
            self._start(frame, scope.item_of[scope.head], scope.head, visit=2)
            return None
        if frame.round >= scope.max_rounds:
            return self._end_at_limit(frame)
        if not frame.retriggered:
            return self._leave(frame, NO_RETRIGGER)
        self._next_round(frame)
        return None

    def _end_at_limit(self, frame: Frame) -> tuple[Frame, int] | None:
        ways = {
            edge: frame.emitted.get(edge) or Emission(frame.prefix, frame.round, 0, [])
            for edge in frame.scope.limit_ways
        }
        frame.emitted = ways
        if any(self.plan.edges[edge].spec.process is not None for edge in ways):
            frame.at_limit = True
            self.commands.append(Leave(frame, ways))
            return None
        self._force_out(frame, ways, {})
        return self._leave(frame, MAX_ROUNDS)

    def _force_out(
        self,
        frame: Frame,
        ways: dict[int, Emission],
        altered: dict[int, list[Message | None]],
    ) -> None:
        """Fire the edges by which a contract leaves the loop."""
        for index, emission in ways.items():
            edge = self.plan.edges[index]
            messages = altered.get(index, emission.messages)
            inbox = self.node_state(edge.target).transcript.inbox
            for number, message in enumerate(messages):
                if edge.touches:
                    carried = message if edge.carry else None
                    inbox.append(Delivery(*emission[:3], index, number, carried, edge))
            if not emission.messages or any(message is not None for message in messages):
                self._pull_out(frame, index)

    def _pull_out(self, frame: Frame, index: int) -> None:
        target = self.plan.edges[index].target
        place: Frame = frame
        while target not in place.scope.item_of and place.parent is not None:
            place.exited = True
            place = place.parent
        item = HEAD if target == place.scope.head else place.scope.item_of[target]
        _trigger(place, index, item, target)

    def _leave(self, frame: Frame, reason: str) -> tuple[Frame, int] | None:
        """End the loop; the item it is in the scope around it is settled."""
        self._record_end(frame, reason)
        self._drop_pending(frame.scope.nodes)
        del self._frames[frame.entry]
        parent = frame.parent
        assert parent is not None  # noqa: S101
        parent.busy -= 1
        parent.note(frame.value, parent.scope.levels[frame.item], frame.item)
        return parent, frame.item

    def _record_end(self, frame: Frame, reason: str) -> None:
        verdict = frame.verdict
        value: float | None = None
        threshold: float | None = None
        if reason == EXIT_EDGE and verdict is not None:
            reason, value, threshold = verdict.reason, verdict.value, verdict.threshold
        elif reason == MAX_ROUNDS:
            value, threshold = float(frame.round), float(frame.scope.max_rounds)
        head, parent = frame.scope.head, frame.parent
        assert head is not None and parent is not None  # noqa: S101, PT018
        address = address_of(parent, parent.round, frame.scope.name)
        key = self.plan.nodes[head].id
        before = self.loops.get(key)
        end = LoopEnd(
            loop=key,
            address=address,
            rounds=frame.round,
            reason=reason,
            value=value,
            threshold=threshold,
            best_round=frame.best_round,
            bounded=frame.goal is False,
            entries=before.entries + 1 if before else 1,
        )
        self.loops.pop(key, None)
        self.loops[key] = end
        self._note_bounded(frame, end)
        if self.effects is not None:
            self.effects.append(LoopEnded(frame, end))

    def _note_bounded(self, frame: Frame, end: LoopEnd) -> None:
        """A loop that reaches its goal speaks for the loops inside it."""
        if frame.goal:
            members = frame.scope.item_of
            self._bounded = {
                loop: bounded
                for loop, bounded in self._bounded.items()
                if not self._is_inside(loop[0], members)
            }
        self._bounded[frame.scope.nodes] = end.bounded

    def _is_inside(self, node: int | None, members: Container[int]) -> bool:
        while node is not None:
            if node in members:
                return True
            node = self.plan.nodes[node].owner
        return False


def _graphs(plan: Plan) -> Iterable[tuple[int, ...]]:
    yield plan.root.ends
    for node in plan.nodes:
        if node.inner is not None:
            yield node.inner.ends


def _take_verdict(frame: Frame, step: Step, verdict: Verdict) -> None:
    """Of several verdicts in a round, the logically last one counts."""
    place = (step.level, step.item)
    if verdict.goal_met is not None and place >= frame.goal_place:
        frame.goal, frame.goal_place = verdict.goal_met, place
    if verdict.reason and place >= frame.verdict_place:
        frame.verdict, frame.verdict_place = verdict, place


def _track(step: Step, tracked: tuple[Wire, ...], messages: list[Message]) -> None:
    """Remember what the loops' ways out would carry if a contract ended them now."""
    emission = Emission(step.frame.prefix, step.round, step.level, messages)
    for wire in tracked:
        frame = step.frame
        for _ in range(wire.hops):
            if wire.edge in frame.scope.ways:
                frame.emitted[wire.edge] = emission
            frame = frame.parent  # type: ignore[assignment]


def _pull(frame: Frame, wire: Wire) -> None:
    """The edge fired: trigger its target in the scope where it lands."""
    if not wire.hops:
        if wire.item == HEAD:
            frame.retriggered = True
            return
        if not wire.into_group:
            frame.fired[wire.item] += 1
            return
    for _ in range(wire.hops):
        frame.exited = True
        frame = frame.parent  # type: ignore[assignment]
    _trigger(frame, wire.edge, wire.item, wire.target)


def _trigger(frame: Frame, edge: int, item: int, target: int) -> None:
    """Count an edge's vote for an item, once a round however often it fires."""
    if item == HEAD:
        frame.retriggered = True
        return
    votes = frame.votes.setdefault(item, {}).setdefault(target, set())
    if edge not in votes:
        votes.add(edge)
        frame.fired[item] += 1


def _over_limit(limit: int) -> str:
    return f"the run reached its limit of {limit} steps; raise graph.limits.max_steps"
