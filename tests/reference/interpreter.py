"""PRODUCT.md sections 3 and 4 as a naive, sequential program: the judge of the engine's semantics.

It runs the items of a scope one after the other, by level and then by place in the file, which is
one of the orders the engine may take. Where a session does not run to its end (`failed` but for
`no_output`, `waiting`, `cancelled`), the executions are those of this order up to there.

The end of a round is decided by `docs/decisions/0006-the-loop-contract.md`, rule by rule.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from tests.reference.document import Edge, Graph, Node, read_graph
from tests.reference.forest import Item, exit_edges, loop_scope, root_scope
from tests.reference.frame import Frame
from tests.reference.messages import (
    Context,
    Delivery,
    Message,
    Path,
    carried,
    condition_holds,
)
from tests.reference.nodes import Memory, Outcome, edges_chosen, execute, outputs_recalled
from tests.reference.run import Execution, LoopRun, Notice, RoundRun, Run
from tests.reference.scores import Output, in_logical_order, round_data
from tests.reference.standing import Best, Emitted, Ending

LABELS_TAKEN_BY_CONTRACT = {"limit", "goal"}
CONTINUE = re.compile(r"continue(?: (\d+))?")
NUDGE = ("There was no gain: try another way.", dict[str, Any]())


Nudge = tuple[str, dict[str, Any]]
"""The text and the data of a nudge, which the contract leaves to the engine."""


def interpret(
    document: dict[str, Any],
    task: str,
    answers: list[str],
    decisions: Mapping[str, Sequence[str]] | None = None,
    nudges: Mapping[str, Sequence[Nudge | None]] | None = None,
) -> Run:
    """Run a graph on a task, with the human answers used in order.

    `decisions` are the answers to the questions of a loop, in order, and `nudges` what it says to
    its head, execution by execution; both by the head's name.
    """
    graph = read_graph(document["graph"])
    message = Message(task, "TASK", data={"task": task})
    session = _Session(
        message,
        graph.max_steps,
        list(answers),
        {head: list(given) for head, given in (decisions or {}).items()},
        nudges or {},
    )
    try:
        result = session.run_graph(graph, "", [message], None)
    except _SessionEnds as end:
        return session.report(graph, end.status, end.reason, [])
    if not result:
        reason = "budget_exhausted" if session.was_cut_in_round_1() else "no_output"
        return session.report(graph, "failed", reason, [])
    status = "bounded" if session.is_bounded() else "completed"
    return session.report(graph, status, "", result)


class _SessionEnds(Exception):
    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass
class _Session:
    task: Message
    max_steps: int
    answers: list[str]
    decisions: dict[str, list[str]]
    nudges: Mapping[str, Sequence[Nudge | None]]
    steps: int = 0
    executions: dict[str, list[Execution]] = field(default_factory=lambda: defaultdict(list))
    contexts: dict[str, Context] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=lambda: defaultdict(Memory))
    ended: list[tuple[Frame, LoopRun]] = field(default_factory=list)
    rounds: list[RoundRun] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)

    # -- scopes ---------------------------------------------------------------------------

    def run_graph(
        self, graph: Graph, names: str, inputs: list[Message], caller: tuple[Frame, Path] | None
    ) -> list[Message]:
        """Run a whole graph from its start nodes; return its result, which may be empty."""
        parent, path = caller or (None, ())
        frame = Frame(graph, names, root_scope(graph), path, parent)
        for node in graph.nodes.values():
            known = self.contexts.get(names + node.id)
            said = known.said if known is not None else []
            self.contexts[names + node.id] = Context(node.context_window, said=said)
            if graph.is_compat:
                self.memories.pop(names + node.id, None)
        for node_id in graph.start:
            before_all = [Delivery((), message) for message in inputs]
            self._context(frame, node_id).pending += before_all
        self._run_items(frame)
        return _result(frame)

    def _run_items(self, frame: Frame) -> None:
        for _, level in groupby(frame.scope.items, key=lambda item: item.level):
            self._run_level(frame, list(level))
            if frame.exits_now and frame.exit_fired:
                return

    def _run_level(self, frame: Frame, level: list[Item]) -> None:
        """Run the items of a level, all of which start at once.

        Only in a loop of ChatDev does data lead from one to another: it comes too late.
        """
        if frame.is_loop and frame.graph.is_compat:
            plain = [item.nodes for item in level if not item.is_loop]
            frame.started = frozenset(node_id for nodes in plain for node_id in nodes)
        for item in level:
            self._run_item(frame, item)
        for context, delivery in frame.late:
            context.pending.append(delivery)
        frame.started, frame.late = frozenset(), []

    def _run_item(self, frame: Frame, item: Item) -> None:
        triggered = frame.triggered(item)
        if not triggered:
            return
        if len(triggered) > 1:
            raise _SessionEnds("failed", "two_entries")
        if item.is_loop:
            self._run_loop(frame, item, head=triggered[0])
        else:
            self._run_step(frame, triggered[0], item.level)

    def _run_loop(self, around: Frame, item: Item, head: str) -> None:
        scope = loop_scope(around.graph, item.nodes, head)
        path = around.path_at(item.level)
        frame = Frame(around.graph, around.names, scope, path, around)
        self._run_items(frame)
        while not (ending := self._end_round(frame)):
            self._run_items(frame)
        self._drop_pending(frame)
        inside = in_logical_order(frame.outputs)
        around.outputs += [replace(each, at=(item.level, item.place)) for each in inside]
        self._note_end(frame, ending)

    def _note_end(self, frame: Frame, ending: Ending) -> None:
        best = frame.standing.best
        loop = LoopRun(
            head=frame.name,
            rounds=frame.round,
            reason=ending.reason,
            value=ending.value,
            threshold=ending.threshold,
            best_round=best.round if best else None,
            bounded=frame.is_bounded,
            has_goal=frame.has_goal,
        )
        self.ended.append((frame, loop))

    # -- the end of a round ---------------------------------------------------------------

    def _end_round(self, frame: Frame) -> Ending | None:
        """Decide by the rules in their order; None if the next round has been prepared."""
        frame.measure_round()
        self._note_round(frame)
        drop = frame.standing.drop(frame.value)
        if frame.standing.is_better(frame.value):
            frame.standing.best = self._as_best(frame)
        spent = self._overspent(frame)
        if spent is not None:
            return spent if self._hand_on(frame, spent) else self._next_round(frame)
        ending = self._exit_ending(frame) or self._goal_ending(frame)
        return ending or self._limit_ending(frame, drop)

    def _note_round(self, frame: Frame) -> None:
        before, now = frame.measured_from, frame.value
        gain = None if before is None or now is None else now - before
        self.rounds.append(RoundRun(frame.name, frame.round, now, gain))
        frame.measured_from = now

    def _as_best(self, frame: Frame) -> Best:
        assert frame.value is not None
        contexts = {name: self.contexts[name].copy() for name in self._names_in(frame)}
        return Best(frame.round, frame.value, frame.line, dict(frame.emitted), contexts)

    def _overspent(self, frame: Frame) -> Ending | None:
        """Rule 2; with `continue` the next round starts, and no other rule is looked at."""
        tokens = frame.contract.tokens
        if tokens is None or frame.spent < tokens * frame.budgets:
            return None
        return Ending("budget_exhausted", frame.spent, tokens * frame.budgets)

    def _exit_ending(self, frame: Frame) -> Ending | None:
        """Rule 3."""
        if not frame.exit_fired:
            return None
        if frame.head_triggered and not frame.exits_now:
            self._run_head_once_more(frame)
        said = frame.exit_verdict
        return Ending(said.reason, said.value, said.threshold) if said else Ending("exit_edge")

    def _run_head_once_more(self, frame: Frame) -> None:
        assert frame.scope.head is not None
        self._run_step(frame, frame.scope.head, frame.scope.top_level + 1, is_last=True)

    def _goal_ending(self, frame: Frame) -> Ending | None:
        """Rules 4 and 5."""
        if frame.reached_score:
            ending = Ending("score_threshold_reached", frame.value, frame.contract.exit_on_score)
        elif frame.until_held:
            ending = Ending("condition_met")
        else:
            return None
        self._take_way_out(frame, "goal", frame.emitted)
        return ending

    def _limit_ending(self, frame: Frame, drop: float | None) -> Ending | None:
        """Rules 6 to 11."""
        contract = frame.contract
        regressed = contract.drop is not None and drop is not None and drop >= contract.drop
        if regressed and drop is not None:
            self._notice(frame, "regression", -drop, contract.on_regression)
        gain = frame.standing.stagnates(contract, frame.value)
        if gain is not None:
            self._notice(frame, "stagnation", gain, contract.on_stagnation)
            self._nudge_next_round(frame)
        limit: Ending | None = None
        if regressed and contract.on_regression == "exit":
            limit = Ending("regressed", drop, contract.drop)
        elif gain is not None and contract.on_stagnation == "exit":
            limit = Ending("stagnated", gain, contract.min_delta)
        elif frame.round >= frame.most_rounds:
            limit = Ending("max_rounds_reached", frame.round, frame.most_rounds)
        if limit and self._hand_on(frame, limit):
            return limit
        if regressed and contract.on_regression == "rollback":
            self._roll_back(frame)
            frame.head_triggered = True
        return self._next_round(frame)

    def _next_round(self, frame: Frame) -> Ending | None:
        """Rules 10 and 11."""
        if not frame.head_triggered:
            return Ending("no_retrigger")
        self._start_next_round(frame)
        return None

    def _notice(self, frame: Frame, kind: str, delta: float, action: str) -> None:
        self.notices.append(Notice(kind, frame.name, frame.round, delta, action))

    def _nudge_next_round(self, frame: Frame) -> None:
        if frame.contract.on_stagnation == "nudge":
            frame.nudged = True
            frame.standing.without_gain = 0

    def _roll_back(self, frame: Frame) -> None:
        """Put back what the best round left to the nodes of the loop."""
        best = frame.standing.best
        assert best is not None
        for name in self._names_in(frame):
            kept = best.contexts.get(name)
            window = self.contexts[name].window
            self.contexts[name] = Context(window) if kept is None else kept.copy()
        frame.measured_from = best.value
        frame.line = best.line
        self.happened["rolled back"] += 1

    def _start_next_round(self, frame: Frame) -> None:
        for node_id in frame.scope.nodes:
            context = self._context(frame, node_id)
            before = len(context.retained)
            context.forget_unless(frame.is_carried)
            self.happened["carry trimmed"] += len(context.retained) < before
        if frame.nudged:
            self._nudge(frame)
        frame.start_next_round()

    def _nudge(self, frame: Frame) -> None:
        given = self.nudges.get(frame.name, ())[len(self.executions[frame.name]) :]
        text, data = (given[0] if given else None) or NUDGE
        nudge = Delivery(frame.path_of_nudge, Message(text, "LOOP", data=data))
        self._context(frame, frame.scope.head or "").pending.append(nudge)
        self.happened["nudged"] += 1

    # -- where a loop goes when its contract ends it --------------------------------------

    def _hand_on(self, frame: Frame, ending: Ending) -> bool:
        """Do what the contract says at a limit; False if somebody says to go on.

        An edge out of it that fired is the way out. A goal that is reached is reached, whatever
        else ends the loop.
        """
        if frame.exit_fired:
            return True
        if frame.reached_goal:
            self._take_way_out(frame, "goal", frame.emitted)
            return True
        choice = frame.contract.on_limit
        if choice == "human":
            choice = self._ask(frame)
        match choice:
            case "fail":
                self._note_end(frame, ending)
                raise _SessionEnds("failed", ending.reason)
            case "stop":
                raise _SessionEnds("cancelled", "")
            case "last" | "best":
                self._leave_at_limit(frame, choice)
                return True
        self._go_on(frame, choice)
        return False

    def _leave_at_limit(self, frame: Frame, choice: str) -> None:
        best = frame.standing.best
        emitted = frame.emitted
        if choice == "best" and best is not None:
            emitted = best.emitted
            self.happened["earlier round handed on"] += best.round < frame.round
        self._take_way_out(frame, "limit", emitted)

    def _ask(self, frame: Frame) -> str:
        """The first answer that the question of a loop understands."""
        answers = self.decisions.get(frame.name, [])
        while answers:
            answer = answers.pop(0)
            if answer in ("best", "stop") or CONTINUE.fullmatch(answer):
                self.happened[f"answered {answer}"] += 1
                return answer
            self.happened["asked again"] += 1
        raise _SessionEnds("waiting", "human_input_required")

    def _go_on(self, frame: Frame, answer: str) -> None:
        said = CONTINUE.fullmatch(answer)
        assert said is not None
        frame.allowed = frame.round + int(said[1] or frame.contract.max_rounds)
        frame.budgets += 1
        frame.standing.without_gain = 0

    def _take_way_out(self, frame: Frame, label: str, emitted: Emitted) -> None:
        """Leave a loop that its contract ended, whatever the conditions on its exit edges."""
        exits = [] if frame.graph.is_compat else exit_edges(frame.graph, frame.scope.nodes)
        ways = _ways_out(exits, label) or _ways_out(exits, "limit")
        for edge in ways:
            path, messages = emitted.get(edge.source, ((), []))
            if messages:
                self._send(frame, edge, list(enumerate(messages)), path)
            else:
                frame.fire(edge)

    # -- steps ----------------------------------------------------------------------------

    def _run_step(self, frame: Frame, node_id: str, level: int, is_last: bool = False) -> None:
        self._count_step()
        path = frame.path_at(level)
        context = self._context(frame, node_id)
        inputs = context.take_inputs()
        node = frame.graph.nodes[node_id]
        recalled = self._recalled(frame, node, inputs)
        outcome = self._execute(frame, node, inputs, path)
        context.remember(outcome.messages, path)
        if outcome.messages and frame.innermost_loop is not None:
            context.said.append((frame.innermost_loop, outcome.messages))
        self._record(frame, node_id, path, inputs, recalled, outcome)
        for edge in edges_chosen(outcome.verdict, frame.graph.edges_from(node_id)):
            if not _is_dead(frame, edge, is_last):
                accepted = [
                    (index, message)
                    for index, message in enumerate(outcome.messages)
                    if condition_holds(edge.condition, message)
                ]
                self._send(frame, edge, accepted, path)

    def _recalled(self, frame: Frame, node: Node, inputs: list[Message]) -> list[Message]:
        """The task and the node's own outputs of this loop, unless it sees them anyway."""
        most = outputs_recalled(node)
        if most == 0:
            return []
        own = self._context(frame, node.id).recalled(frame.innermost_loop, most, inputs)
        sees_task = any(message.words == self.task.words for message in inputs)
        self.happened["recalled"] += bool(own)
        return own if sees_task else [self.task, *own]

    def _count_step(self) -> None:
        if self.steps == self.max_steps:
            raise _SessionEnds("failed", "max_steps_reached")
        self.steps += 1

    def _execute(self, frame: Frame, node: Node, inputs: list[Message], path: Path) -> Outcome:
        match node.type:
            case "human":
                return Outcome([Message(self._next_answer(), node.id)])
            case "subgraph":
                graph = read_graph(_inner_body(node))
                result = self.run_graph(
                    graph, f"{frame.names}{node.id}/", inputs, caller=(frame, path)
                )
                return Outcome([replace(last, source=node.id) for last in result[-1:]])
            case _:
                memory = self.memories[frame.names + node.id]
                return execute(node, inputs, memory, frame.round)

    def _next_answer(self) -> str:
        if not self.answers:
            raise _SessionEnds("waiting", "human_input_required")
        return self.answers.pop(0)

    def _record(
        self,
        frame: Frame,
        node_id: str,
        path: Path,
        inputs: list[Message],
        recalled: list[Message],
        outcome: Outcome,
    ) -> None:
        messages, verdict = outcome.messages, outcome.verdict
        self.executions[frame.names + node_id].append(
            Execution(
                inputs=[(message.source, message.content) for message in inputs],
                outputs=[message.content for message in messages],
                recalled=[(message.source, message.content) for message in recalled],
                input_data=[message.data for message in inputs],
                output_data=[message.data for message in messages],
            )
        )
        for around in (frame, *frame.around()):
            around.spent += outcome.tokens
        for scope in frame.in_same_graph():
            scope.emitted[node_id] = (path, messages)
            if messages:
                scope.produced[node_id] = messages
        if messages:
            place = frame.graph.nodes[node_id].place
            frame.outputs.append(Output(node_id, messages, at=(path[-1], place)))
        if verdict is not None and frame.is_loop:
            if verdict.has_goal:
                frame.verdict = verdict
            if verdict.reason:
                frame.exit_verdict = verdict

    # -- messages -------------------------------------------------------------------------

    def _send(
        self, frame: Frame, edge: Edge, accepted: list[tuple[int, Message]], path: Path
    ) -> None:
        """Deliver what passed the condition; fire unless nothing passed or all was dropped."""
        arrived = False
        for index, message in accepted:
            processed = carried(edge, message) if edge.carry_data else None
            arrived = arrived or processed is not None or not edge.carry_data
            delivery = Delivery(
                path=(*path, 0, edge.place, index),
                message=processed,
                clears_context=edge.clear_context,
                clears_kept=edge.clear_kept_context,
            )
            self._deliver(frame, edge.target, delivery)
        if arrived and edge.trigger:
            frame.fire(edge)

    def _deliver(self, frame: Frame, target: str, delivery: Delivery) -> None:
        context = self._context(frame, target)
        for scope in frame.in_same_graph():
            if target in scope.started:
                scope.late.append((context, delivery))
                return
        context.pending.append(delivery)

    def _context(self, frame: Frame, node_id: str) -> Context:
        return self.contexts[frame.names + node_id]

    def _names_in(self, frame: Frame) -> list[str]:
        """The names of a loop's nodes, and of those in the subgraphs among them."""
        nodes = [frame.names + node_id for node_id in frame.scope.nodes]
        inside = tuple(f"{name}/" for name in nodes)
        return [name for name in self.contexts if name in nodes or name.startswith(inside)]

    def _drop_pending(self, frame: Frame) -> None:
        for node_id in frame.scope.nodes:
            self._context(frame, node_id).pending.clear()

    # -- the end --------------------------------------------------------------------------

    def was_cut_in_round_1(self) -> bool:
        """Whether the budget of some loop did not last for a round, when it was last entered."""
        last = {frame.name: end for frame, end in self.ended}
        return any(end.reason == "budget_exhausted" and end.rounds == 1 for end in last.values())

    def is_bounded(self) -> bool:
        """Whether the last entry of some loop missed its goal and no loop around it made up."""
        last_entries: dict[object, Frame] = {}
        for frame, _ in self.ended:
            if frame.reached_goal:
                last_entries = {
                    loop: inner
                    for loop, inner in last_entries.items()
                    if frame.loop not in [outer.loop for outer in inner.around()]
                }
            last_entries[frame.loop] = frame
        return any(frame.is_bounded for frame in last_entries.values())

    def report(self, graph: Graph, status: str, reason: str, result: list[Message]) -> Run:
        never: dict[str, list[Execution]] = {node_id: [] for node_id in graph.nodes}
        in_order = sorted(self.ended, key=lambda pair: _end_path(pair[0]))
        return Run(
            status=status,
            reason=reason,
            output=result[-1].content if result else "",
            executions=never | dict(self.executions),
            loops=[loop for _, loop in in_order],
            data=round_data([Output("", result)]),
            rounds=self.rounds,
            notices=self.notices,
            happened=self.happened,
        )


def _ways_out(exits: list[Edge], label: str) -> list[Edge]:
    """The exits with the label, else the only one that no contract label is on."""
    labelled = [edge for edge in exits if edge.label == label]
    plain = [edge for edge in exits if edge.label not in LABELS_TAKEN_BY_CONTRACT] or exits
    return labelled or (plain if len(plain) == 1 else [])


def _is_dead(frame: Frame, edge: Edge, is_last_run_of_head: bool) -> bool:
    if frame.contains(edge):
        return edge.trigger and is_last_run_of_head
    return edge.trigger and edge.label in LABELS_TAKEN_BY_CONTRACT


def _result(frame: Frame) -> list[Message]:
    """The newest output of the first end node whose newest output does not end in emptiness.

    In ChatDev the sinks are end nodes too, any output counts, and there always is one.
    """
    graph = frame.graph
    sinks = [node_id for node_id in graph.nodes if not graph.edges_from(node_id)]
    for node_id in [*graph.end, *(sinks if graph.is_compat else [])]:
        messages = frame.produced.get(node_id, [])
        if messages and (graph.is_compat or not messages[-1].is_empty):
            return messages
    return [Message("", "")] if graph.is_compat else []


def _inner_body(node: Node) -> dict[str, Any]:
    body: dict[str, Any] = node.config["graph" if "graph" in node.config else "config"]
    return body


def _end_path(frame: Frame) -> Path:
    return frame.path_at(frame.scope.top_level + 1)
