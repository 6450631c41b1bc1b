"""A scope that is being run, and where the triggers of its edges land."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tests.reference.contract import Contract, read_contract
from tests.reference.document import Edge, Graph
from tests.reference.forest import Item, Scope
from tests.reference.messages import Context, Delivery, Message, Path
from tests.reference.nodes import Verdict
from tests.reference.scores import Output, in_logical_order, round_data, round_value
from tests.reference.standing import Emitted, Standing
from tests.reference.until import until_holds


@dataclass
class Frame:
    """A scope that is being run: the root of a graph, or one entry of a loop."""

    graph: Graph
    names: str
    """What the names of this graph's nodes begin with: `S/` inside subgraph node S."""
    scope: Scope
    path: Path
    """Round and level of every scope around this one."""
    parent: Frame | None
    """The scope around this one; for a subgraph, the scope of the node that called it."""
    round: int = 1
    fired: set[Edge] = field(default_factory=set)
    exit_fired: bool = False
    head_triggered: bool = False
    emitted: Emitted = field(default_factory=dict)
    """The last step of every node that ran in this round: its path, its output."""
    outputs: list[Output] = field(default_factory=list)
    """What this round's steps emitted, as they ran; of an inner loop, its last round's."""
    produced: dict[str, list[Message]] = field(default_factory=dict)
    """The last output of every node that emitted anything since this scope was entered."""
    verdict: Verdict | None = None
    """That of the last `loop` node with a goal."""
    exit_verdict: Verdict | None = None
    """That of the last `loop` node that decided to exit in this round."""
    value: float | None = None
    """The value of the round that ended last."""
    until_held: bool = False
    standing: Standing = field(default_factory=Standing)
    line: tuple[int, ...] = ()
    """The rounds that led here: a rollback takes out those that came after the best one."""
    measured_from: float | None = None
    """What the next round's gain is counted from."""
    allowed: int | None = None
    """The last round allowed since somebody said `continue`; None: as the contract says."""
    spent: int = 0
    budgets: int = 1
    """How many times the contract's budget may be spent: once more with every `continue`."""
    nudged: bool = False
    started: frozenset[str] = frozenset()
    """In a loop of ChatDev, the nodes of the level that runs: they have taken their inputs."""
    late: list[tuple[Context, Delivery]] = field(default_factory=list)
    """What was delivered to them meanwhile."""

    @property
    def loop(self) -> object:
        """The loop this is an entry of, whichever its head."""
        return self.names, self.scope.nodes

    @property
    def name(self) -> str:
        """The head's name, which is the loop's."""
        return f"{self.names}{self.scope.head}"

    @property
    def is_loop(self) -> bool:
        return self.scope.head is not None

    @cached_property
    def contract(self) -> Contract:
        return read_contract(self.graph.loops.get(self.scope.head or "") or {})

    @property
    def innermost_loop(self) -> Frame | None:
        """The entry of the innermost loop around what runs here, also through subgraphs."""
        return next((frame for frame in (self, *self.around()) if frame.is_loop), None)

    @property
    def exits_now(self) -> bool:
        return self.is_loop and (self.contract.exit == "now" or self.graph.is_compat)

    # -- goals ----------------------------------------------------------------------------

    @property
    def has_goal(self) -> bool:
        return self.contract.has_goal or self.verdict is not None

    @property
    def is_bounded(self) -> bool:
        return self.has_goal and not self.reached_goal

    @property
    def reached_goal(self) -> bool:
        said_so = self.verdict is not None and self.verdict.goal_met
        return said_so or self.reached_score or self.until_held

    @property
    def reached_score(self) -> bool:
        wanted = self.contract.exit_on_score
        return wanted is not None and self.value is not None and self.value >= wanted

    # -- rounds ---------------------------------------------------------------------------

    @property
    def most_rounds(self) -> int:
        return self.contract.max_rounds if self.allowed is None else self.allowed

    def measure_round(self) -> None:
        """Look at what the round came to, once, when all of it is settled."""
        self.line = (*self.line, self.round)
        contract = self.contract
        outputs = in_logical_order(self.outputs)
        self.value = round_value(outputs, contract.score_path, contract.score_node)
        text = outputs[-1].messages[-1].content if outputs else ""
        self.until_held = contract.until is not None and until_holds(
            contract.until, round_data(outputs), text, self.round, self.value
        )

    def start_next_round(self) -> None:
        self.round += 1
        self.fired.clear()
        self.emitted = {}
        self.outputs = []
        self.head_triggered = False
        self.exit_verdict = None
        self.nudged = False

    def is_carried(self, since: Path) -> bool:
        """Whether what was retained then goes into the next round.

        What was retained in an earlier entry is of no round of this one.
        """
        rounds = self.contract.carry
        here = len(self.path)
        in_this_entry = since[:here] == self.path
        return rounds is None or (in_this_entry and since[here] in self.line[-rounds:])

    # -- logical places -------------------------------------------------------------------

    def path_at(self, level: int) -> Path:
        return (*self.path, self.round, level)

    @property
    def path_of_nudge(self) -> Path:
        """After all that the round sent."""
        return self.path_at(self.scope.top_level + 2)

    def contains(self, edge: Edge) -> bool:
        return edge.target in self.scope.nodes

    def in_same_graph(self) -> Iterator[Frame]:
        """This frame and those around it, up to the root of its graph."""
        frame = self
        while True:
            yield frame
            if not frame.is_loop or frame.parent is None:
                return
            frame = frame.parent

    def around(self) -> Iterator[Frame]:
        """The frames around this one, also those that called its graph."""
        frame = self
        while frame.parent is not None:
            frame = frame.parent
            yield frame

    # -- triggers -------------------------------------------------------------------------

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
