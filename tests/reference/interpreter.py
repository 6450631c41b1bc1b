"""PRODUCT.md section 3 as a naive, sequential program: the judge of the engine's semantics.

It runs the items of a scope one after the other, by level and then by place in the file, which is
one of the orders the engine may take. Where a session does not run to its end (`failed` but for
`no_output`, `waiting`), the executions are those of this order up to there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from tests.reference.document import Edge, Graph, Node, read_graph
from tests.reference.forest import Item, Scope, exit_edges, loop_scope, root_scope
from tests.reference.messages import (
    Context,
    Delivery,
    Message,
    Path,
    carried,
    condition_holds,
)
from tests.reference.nodes import Memory, Outcome, Verdict, edges_chosen, execute

DEFAULT_MAX_ROUNDS = 100
LABELS_TAKEN_BY_CONTRACT = {"limit", "goal"}


@dataclass(frozen=True)
class Execution:
    """One execution of one node: what it saw, as (source, text), and what it emitted."""

    inputs: list[tuple[str, str]]
    outputs: list[str]


@dataclass(frozen=True)
class LoopRun:
    """One entry of a loop, after its end."""

    head: str
    rounds: int
    reason: str
    bounded: bool


@dataclass(frozen=True)
class Run:
    """What a session did and how it ended."""

    status: str
    reason: str
    output: str
    executions: dict[str, list[Execution]]
    loops: list[LoopRun]


def interpret(document: dict[str, Any], task: str, answers: list[str]) -> Run:
    """Run a graph on a task, with the human answers used in order."""
    graph = read_graph(document["graph"])
    session = _Session(graph.max_steps, list(answers))
    try:
        result = session.run_graph(graph, "", [Message(task, "TASK", data={"task": task})], None)
    except _SessionEnds as end:
        return session.report(graph, end.status, end.reason, "")
    if result is None:
        return session.report(graph, "failed", "no_output", "")
    status = "bounded" if session.is_bounded() else "completed"
    return session.report(graph, status, "", result.content)


class _SessionEnds(Exception):
    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass
class _Frame:
    """A scope that is being run: the root of a graph, or one entry of a loop."""

    graph: Graph
    names: str
    """What the names of this graph's nodes begin with: `S/` inside subgraph node S."""
    scope: Scope
    path: Path
    """Round and level of every scope around this one."""
    parent: _Frame | None
    """The scope around this one; for a subgraph, the scope of the node that called it."""
    round: int = 1
    fired: set[Edge] = field(default_factory=set)
    exit_fired: bool = False
    head_triggered: bool = False
    emitted: dict[str, tuple[Path, list[Message]]] = field(default_factory=dict)
    """The last step of every node that ran in this round: its path, its output."""
    produced: dict[str, list[Message]] = field(default_factory=dict)
    """The last output of every node that emitted anything since this scope was entered."""
    verdict: Verdict | None = None
    """That of the last `loop` node with a goal."""
    exit_reason: str | None = None
    """That of the last `loop` node that decided to exit in this round."""

    @property
    def loop(self) -> object:
        """The loop this is an entry of, whichever its head."""
        return self.names, self.scope.nodes

    @property
    def is_loop(self) -> bool:
        return self.scope.head is not None

    @property
    def is_bounded(self) -> bool:
        return self.verdict is not None and not self.verdict.goal_met

    @property
    def reached_goal(self) -> bool:
        return self.verdict is not None and self.verdict.goal_met

    @property
    def contract(self) -> dict[str, Any]:
        return self.graph.loops.get(self.scope.head or "") or {}

    @property
    def exits_now(self) -> bool:
        return self.is_loop and self.contract.get("exit", "round_end") == "now"

    def path_at(self, level: int) -> Path:
        return (*self.path, self.round, level)

    def contains(self, edge: Edge) -> bool:
        return edge.target in self.scope.nodes

    def in_same_graph(self) -> Iterator[_Frame]:
        """This frame and those around it, up to the root of its graph."""
        frame = self
        while True:
            yield frame
            if not frame.is_loop or frame.parent is None:
                return
            frame = frame.parent

    def start_next_round(self) -> None:
        self.round += 1
        self.fired.clear()
        self.emitted.clear()
        self.head_triggered = False
        self.exit_reason = None

    def triggered(self, item: Item) -> list[str]:
        """The nodes of an item that may start it, in file order."""
        nodes = sorted(item.nodes, key=lambda node_id: self.graph.nodes[node_id].place)
        return [node_id for node_id in nodes if self._is_triggered(node_id, item)]

    def _is_triggered(self, node_id: str, item: Item) -> bool:
        if node_id == self.scope.head or (not self.is_loop and node_id in self.graph.start):
            return True
        fired = [edge in self.fired for edge in self._joined(node_id, item)]
        return all(fired) and any(fired) if self._joins_all(node_id) else any(fired)

    def _joins_all(self, node_id: str) -> bool:
        return self.graph.nodes[node_id].join == "all"

    def _joined(self, node_id: str, item: Item) -> list[Edge]:
        """The trigger edges into a node from the same scope; the root's also from dead nodes."""
        around = (self.scope.nodes if self.is_loop else self.graph.nodes.keys()) - item.nodes
        edges = [edge for edge in self.graph.edges if edge.trigger and edge.target == node_id]
        return [edge for edge in edges if edge.source in around]

    def fire(self, edge: Edge) -> None:
        """Set the trigger in the scope that holds the target; every loop it leaves has an exit."""
        for frame in self.in_same_graph():
            if not frame.contains(edge):
                frame.exit_fired = True
            elif edge.target == frame.scope.head:
                frame.head_triggered = True
                return
            else:
                frame.fired.add(edge)
                return


@dataclass
class _Session:
    max_steps: int
    answers: list[str]
    steps: int = 0
    executions: dict[str, list[Execution]] = field(default_factory=lambda: defaultdict(list))
    contexts: dict[str, Context] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=lambda: defaultdict(Memory))
    ended: list[tuple[_Frame, LoopRun]] = field(default_factory=list)

    # -- scopes ---------------------------------------------------------------------------

    def run_graph(
        self, graph: Graph, names: str, inputs: list[Message], caller: tuple[_Frame, Path] | None
    ) -> Message | None:
        """Run a whole graph from its start nodes; return its result."""
        parent, path = caller or (None, ())
        frame = _Frame(graph, names, root_scope(graph), path, parent)
        for node in graph.nodes.values():
            self.contexts[names + node.id] = Context(node.context_window)
        for node_id in graph.start:
            before_all = [Delivery((), message) for message in inputs]
            self._context(frame, node_id).pending += before_all
        self._run_items(frame)
        return _result(frame)

    def _run_items(self, frame: _Frame) -> None:
        for _, level in groupby(frame.scope.items, key=lambda item: item.level):
            for item in level:
                self._run_item(frame, item)
            if frame.exits_now and frame.exit_fired:
                return

    def _run_item(self, frame: _Frame, item: Item) -> None:
        triggered = frame.triggered(item)
        if not triggered:
            return
        if len(triggered) > 1:
            raise _SessionEnds("failed", "two_entries")
        if item.is_loop:
            self._run_loop(frame, item, head=triggered[0])
        else:
            self._run_step(frame, triggered[0], item.level)

    def _run_loop(self, around: _Frame, item: Item, head: str) -> None:
        scope = loop_scope(around.graph, item.nodes, head)
        path = around.path_at(item.level)
        frame = _Frame(around.graph, around.names, scope, path, around)
        self._run_items(frame)
        while not (reason := self._reason_to_end(frame)):
            frame.start_next_round()
            self._run_items(frame)
        self._drop_pending(frame)
        loop = LoopRun(frame.names + head, frame.round, reason, frame.is_bounded)
        self.ended.append((frame, loop))

    def _reason_to_end(self, frame: _Frame) -> str | None:
        """Decide at the end of a round; None for one more round."""
        if frame.exit_fired:
            if frame.head_triggered and not frame.exits_now:
                self._run_head_once_more(frame)
            return frame.exit_reason or "exit_edge"
        if frame.round >= frame.contract.get("max_rounds", DEFAULT_MAX_ROUNDS):
            self._take_way_out(frame)
            return "max_rounds_reached"
        return None if frame.head_triggered else "no_retrigger"

    def _run_head_once_more(self, frame: _Frame) -> None:
        assert frame.scope.head is not None
        self._run_step(frame, frame.scope.head, frame.scope.top_level + 1, is_last=True)

    def _take_way_out(self, frame: _Frame) -> None:
        """Leave a loop that its contract ended, whatever the conditions on its exit edges."""
        exits = exit_edges(frame.graph, frame.scope.nodes)
        labelled = [edge for edge in exits if edge.label == "limit"]
        plain = [edge for edge in exits if edge.label not in LABELS_TAKEN_BY_CONTRACT] or exits
        for edge in labelled or (plain if len(plain) == 1 else []):
            path, messages = frame.emitted.get(edge.source, ((), []))
            if messages:
                self._send(frame, edge, list(enumerate(messages)), path)
            else:
                frame.fire(edge)

    # -- steps ----------------------------------------------------------------------------

    def _run_step(self, frame: _Frame, node_id: str, level: int, is_last: bool = False) -> None:
        self._count_step()
        path = frame.path_at(level)
        context = self._context(frame, node_id)
        inputs = context.take_inputs()
        outcome = self._execute(frame, frame.graph.nodes[node_id], inputs, path)
        context.remember(outcome.messages)
        self._record(frame, node_id, path, inputs, outcome)
        for edge in edges_chosen(outcome.verdict, frame.graph.edges_from(node_id)):
            if not _is_dead(frame, edge, is_last):
                accepted = [
                    (index, message)
                    for index, message in enumerate(outcome.messages)
                    if condition_holds(edge.condition, message)
                ]
                self._send(frame, edge, accepted, path)

    def _count_step(self) -> None:
        if self.steps == self.max_steps:
            raise _SessionEnds("failed", "max_steps_reached")
        self.steps += 1

    def _execute(self, frame: _Frame, node: Node, inputs: list[Message], path: Path) -> Outcome:
        match node.type:
            case "human":
                return Outcome([Message(self._next_answer(), node.id)])
            case "subgraph":
                graph = read_graph(_inner_body(node))
                result = self.run_graph(
                    graph, f"{frame.names}{node.id}/", inputs, caller=(frame, path)
                )
                return Outcome([replace(result or Message("", node.id), source=node.id)])
            case _:
                memory = self.memories[frame.names + node.id]
                return execute(node, inputs, memory, frame.round)

    def _next_answer(self) -> str:
        if not self.answers:
            raise _SessionEnds("waiting", "human_input_required")
        return self.answers.pop(0)

    def _record(
        self, frame: _Frame, node_id: str, path: Path, inputs: list[Message], outcome: Outcome
    ) -> None:
        self.executions[frame.names + node_id].append(
            Execution(
                inputs=[(message.source, message.content) for message in inputs],
                outputs=[message.content for message in outcome.messages],
            )
        )
        for scope in frame.in_same_graph():
            scope.emitted[node_id] = (path, outcome.messages)
            if outcome.messages:
                scope.produced[node_id] = outcome.messages
        if outcome.verdict is not None and frame.is_loop:
            if outcome.verdict.has_goal:
                frame.verdict = outcome.verdict
            frame.exit_reason = outcome.verdict.reason or frame.exit_reason

    # -- messages -------------------------------------------------------------------------

    def _send(
        self, frame: _Frame, edge: Edge, accepted: list[tuple[int, Message]], path: Path
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
            self._context(frame, edge.target).pending.append(delivery)
        if arrived and edge.trigger:
            frame.fire(edge)

    def _context(self, frame: _Frame, node_id: str) -> Context:
        return self.contexts[frame.names + node_id]

    def _drop_pending(self, frame: _Frame) -> None:
        for node_id in frame.scope.nodes:
            self._context(frame, node_id).pending.clear()

    # -- the end --------------------------------------------------------------------------

    def is_bounded(self) -> bool:
        """Whether the last entry of some loop missed its goal and no loop around it made up."""
        last_entries: dict[object, _Frame] = {}
        for frame, _ in self.ended:
            if frame.reached_goal:
                last_entries = {
                    loop: inner
                    for loop, inner in last_entries.items()
                    if frame.loop not in [outer.loop for outer in _around(inner)]
                }
            last_entries[frame.loop] = frame
        return any(frame.is_bounded for frame in last_entries.values())

    def report(self, graph: Graph, status: str, reason: str, output: str) -> Run:
        never: dict[str, list[Execution]] = {node_id: [] for node_id in graph.nodes}
        in_order = sorted(self.ended, key=lambda pair: _end_path(pair[0]))
        return Run(
            status, reason, output, never | dict(self.executions), [loop for _, loop in in_order]
        )


def _is_dead(frame: _Frame, edge: Edge, is_last_run_of_head: bool) -> bool:
    if frame.contains(edge):
        return edge.trigger and is_last_run_of_head
    return edge.trigger and edge.label in LABELS_TAKEN_BY_CONTRACT


def _result(frame: _Frame) -> Message | None:
    """The last message of the first end node whose newest output is not empty."""
    for node_id in frame.graph.end:
        messages = frame.produced.get(node_id, [])
        if messages and not messages[-1].is_empty:
            return messages[-1]
    return None


def _inner_body(node: Node) -> dict[str, Any]:
    body: dict[str, Any] = node.config["graph" if "graph" in node.config else "config"]
    return body


def _around(frame: _Frame) -> Iterator[_Frame]:
    while frame.parent is not None:
        frame = frame.parent
        yield frame


def _end_path(frame: _Frame) -> Path:
    return frame.path_at(frame.scope.top_level + 1)
