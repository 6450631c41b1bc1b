"""Random graphs for the differential test: nested loops, diamonds, exits, windows, contracts.

Graphs are made of blocks (a node, a chain, a diamond, a loop), then decorated, then given loop
contracts where `forest.possible_loops` says that a node heads a loop. They are valid by
construction, and most of their loops run several rounds and come to an end.

Humans that may be asked in an order the contract does not fix all answer alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.reference.document import Graph, read_graph
from tests.reference.forest import PossibleLoop, exit_edges, possible_loops
from tests.reference.interpreter import interpret

Picked = TypeVar("Picked")
Dice = Callable[[int, int], int]
"""Gives a number between two others, both included: all that chance decides here."""

MAX_STEPS = 300
TRIAL_STEPS = 60
AGAIN, DONE = "again", "done"
WORDS = [AGAIN, DONE, "red 1", "blue", "Blue 22 red", "again red"]
PROCESSES: list[dict[str, Any]] = [
    {"pattern": r"\w+", "template": "<{match}>"},
    {"pattern": r"\d", "on_no_match": "drop"},
    {"pattern": r"(\w+) (\w+)", "group": 2, "on_no_match": "default", "default_value": "none"},
    {"pattern": "[a-z]+", "multiple": True, "case_sensitive": False},
    {"pattern": "BLUE|red", "case_sensitive": False, "on_no_match": "pass"},
]


@dataclass(frozen=True)
class Case:
    """One run for both the reference and the engine."""

    document: dict[str, Any]
    task: str
    answers: list[str]
    decisions: dict[str, list[str]] = field(default_factory=dict)
    """The answers to the questions of loops, by the head's name."""


@st.composite
def graphs(draw: st.DrawFn, scores: bool = False) -> Case:
    """Cases; with `scores`, script nodes also emit `{content, data: {score}}` lines."""
    return thrown_case(drawn_dice(draw), scores)


def thrown_case(dice: Dice, scores: bool = False) -> Case:
    """The case that these dice give."""
    builder = Builder(dice, nodes_left=dice(2, 7), scores=scores)
    case = full_case(builder)
    if builder.humans and builder.chance(20):
        return _short_of_answers(dice, case)
    return case


def drawn_dice(draw: st.DrawFn) -> Dice:
    """Dice whose throws hypothesis makes, and shrinks."""
    return lambda low, high: draw(st.integers(low, high))


def full_case(builder: Builder) -> Case:
    """A case with as many answers as any run may take."""
    body = builder.graph_body("generated")
    body = json.loads(json.dumps({**body, "limits": {"max_steps": MAX_STEPS}}))
    task = builder.pick(["start 1", "again", "Write about loops"])
    answers = _answers(builder)
    return Case({"version": 1, "graph": body}, task, answers)


def _answers(builder: Builder) -> list[str]:
    some = builder.some([AGAIN, "again 1", DONE], 1, 4)
    cycle = some[:1] if builder.humans > 1 else [*some, DONE]
    return (cycle * MAX_STEPS)[:MAX_STEPS] if builder.humans else []


def _short_of_answers(dice: Dice, case: Case) -> Case:
    """The same with few answers, unless the run might fail elsewhere before it waits."""
    if interpret(case.document, case.task, case.answers).status == "failed":
        return case
    return Case(case.document, case.task, case.answers[: dice(0, 3)])


@dataclass(frozen=True)
class Block:
    """A part of the graph that is entered at one node and left from one."""

    entry: str
    exit: str


@dataclass
class Builder:
    dice: Dice
    nodes_left: int
    scores: bool = False
    humans: int = 0
    depth: int = 0
    in_subgraph: bool = False
    window_chance: int = 25
    loops_at_top: int = 3
    """How many times more likely than a chain the whole graph is one loop."""
    sink: str = ""
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)

    def chance(self, percent: int) -> bool:
        return self.dice(1, 100) > 100 - percent

    def pick(self, choices: Sequence[Picked]) -> Picked:
        return choices[self.dice(0, len(choices) - 1)]

    def some(self, choices: Sequence[Picked], least: int, most: int) -> list[Picked]:
        return [self.pick(choices) for _ in range(self.dice(least, most))]

    def shuffled(self, things: list[Picked]) -> list[Picked]:
        left = list(things)
        return [left.pop(self.dice(0, len(left) - 1)) for _ in things]

    # -- the whole ------------------------------------------------------------------------

    def graph_body(self, graph_id: str) -> dict[str, Any]:
        """A graph with a start, a sink, contracts, and most of its random edges harmless."""
        whole = self._block()
        self.sink = self._node("passthrough", {"only_last_message": self.chance(50)})
        self._edge(whole.exit, self.sink)
        body: dict[str, Any] = {"id": graph_id, "start": [whole.entry], "end": [self.sink]}
        if self.chance(10):
            body["start"].append(self._second_start())
        if self.chance(15):
            body["end"] = [self.pick(self.nodes)["id"], self.sink]
        elif self.chance(20):
            del body["end"]
        self._add_random_edges(body)
        self._decorate_edges()
        self._decorate_nodes()
        self._add_contracts(body)
        return self._in_some_order(body)

    def _second_start(self) -> str:
        """One more start node; it leads to the sink, which is in no loop."""
        node_id = self._any_node()
        self._edge(node_id, self.sink)
        return node_id

    def _in_some_order(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.chance(60):
            self.nodes = self.shuffled(self.nodes)
            self.edges = self.shuffled(self.edges)
        return {**body, "nodes": self.nodes, "edges": self.edges}

    # -- blocks ---------------------------------------------------------------------------

    def _block(self) -> Block:
        if self.nodes_left < 2 or self.depth > 2:
            return self._single()
        kinds = [self._loop] * 5 + [self._diamond, self._diamond, self._chain, self._single]
        if self.depth == 0:
            kinds = [self._loop] * self.loops_at_top + [self._chain, self._diamond]
        self.depth += 1
        block = self.pick(kinds)()
        self.depth -= 1
        return block

    def _single(self) -> Block:
        node_id = self._any_node()
        return Block(node_id, node_id)

    def _chain(self) -> Block:
        first, second = self._block(), self._block()
        self._edge(first.exit, second.entry)
        return Block(first.entry, second.exit)

    def _diamond(self) -> Block:
        fork, left, right = self._any_node(), self._block(), self._block()
        join = self._any_node()
        for branch in (left, right):
            self._edge(fork, branch.entry, **self._condition(harmless=80))
            self._edge(branch.exit, join)
        if self.chance(40):
            self.nodes[-1]["join"] = "all"
        return Block(fork, join)

    def _loop(self) -> Block:
        body = self._block()
        if self.chance(75):
            body = self._behind_a_node(body)
        body = self._measured(body)
        after = self._any_node()
        self.pick(self._drivers())(body, after)
        if self.chance(25):
            self._edge(body.entry, after, condition=_keyword(any=[self.pick(["blue", DONE])]))
        if self.chance(25):
            return Block(self._two_doors(body), after)
        return Block(body.entry, after)

    def _measured(self, body: Block) -> Block:
        """The block, with whatever gives each round its score."""
        return body

    def _behind_a_node(self, body: Block) -> Block:
        """The block with a plain node before it, so that an inner loop keeps its own head."""
        head = self._any_node()
        self._edge(head, body.entry)
        return Block(head, body.exit)

    def _two_doors(self, body: Block) -> str:
        """A gate that opens a loop now at one node, now at another."""
        outputs = self.some([["left"], ["right"]], 1, 3)
        gate = self._node("script", {"outputs": outputs})
        self._edge(gate, body.entry, condition=_keyword(any=["left"]))
        self._edge(gate, body.exit, condition=_keyword(any=["right"]))
        return gate

    # -- what drives a loop ---------------------------------------------------------------

    def _drivers(self) -> list[Callable[[Block, str], None]]:
        words = [self._by_words, self._by_words]
        return [*words, self._by_counter, self._by_loop_node, self._by_growth, self._by_limit]

    def _by_words(self, body: Block, after: str) -> None:
        """Somebody says `again` or `done`."""
        driver = self._human() if self.chance(20) else self._speaker()
        self._edge(body.exit, driver)
        self._edge(driver, body.entry, condition=_keyword(any=[AGAIN]))
        done = _keyword(any=[DONE]) if self.chance(70) else _keyword(none=[AGAIN])
        self._edge(driver, after, condition=done)

    def _speaker(self) -> str:
        said = self.some([[AGAIN], [AGAIN], [DONE], [AGAIN, DONE]], 1, 5)
        return self._node("script", {"outputs": [[AGAIN], *said, [DONE]]})

    def _by_counter(self, body: Block, after: str) -> None:
        """The review loop of seed 004: the counter's message leaves the loop."""
        guard = self._counter(self.dice(2, 4))
        self._edge(body.exit, body.entry)
        self._edge(body.exit, guard)
        self._edge(guard, body.entry)
        self._edge(guard, after)

    def _by_loop_node(self, body: Block, after: str) -> None:
        config: dict[str, Any] = {"max_rounds": self.pick([3, 2, 4, 2, 1])}
        if self.chance(40):
            config["exit_on_score"] = 90
        judge = self._node("loop", config)
        source = self._scorer(body.exit) if self.scores and self.chance(70) else body.exit
        self._edge(source, judge)
        labelled = self.chance(70)
        self._edge(judge, body.entry, **({"label": "continue"} if labelled else {}))
        self._edge(judge, after, **({"label": "exit"} if labelled else {}))

    def _scorer(self, before: str) -> str:
        scores = self.some([50, 89.5, "90", 95], 1, 4)
        lines = [[{"content": f"score {score}", "data": {"score": score}}] for score in scores]
        node_id = self._node("script", {"outputs": lines})
        self._edge(before, node_id)
        return node_id

    def _by_growth(self, body: Block, after: str) -> None:
        """Each round adds a mark to the text, until there are enough."""
        enough = "+" * self.dice(1, 3)
        grow = {"type": "regex_extract", "config": {"pattern": "^.*$", "template": "{match}+"}}
        self._edge(body.exit, body.entry, condition=_keyword(none=[enough]), process=grow)
        self._edge(body.exit, after, condition=_keyword(any=[enough]))

    def _by_limit(self, body: Block, after: str) -> None:
        """Only the contract ends it."""
        self._edge(body.exit, body.entry)
        condition = self.pick([False, "false", _keyword(any=["never"])])
        label = {"label": "limit"} if self.chance(50) else {}
        self._edge(body.exit, after, condition=condition, **label)

    # -- nodes ----------------------------------------------------------------------------

    def _node(self, node_type: str, config: dict[str, Any]) -> str:
        self.nodes_left -= 1
        node_id = f"n{len(self.nodes) + 1}"
        self.nodes.append({"id": node_id, "type": node_type, "config": config})
        return node_id

    def _any_node(self) -> str:
        kinds = [self._passthrough] * 12 + [self._literal] * 3 + [self._script] * 4
        kinds += [self._human, self._short_counter]
        if not self.in_subgraph:
            kinds += [self._subgraph] * 2
        return self.pick(kinds)()

    def _passthrough(self) -> str:
        return self._node("passthrough", {})

    def _literal(self) -> str:
        return self._node("literal", {"content": self.pick(WORDS)})

    def _human(self) -> str:
        self.humans += 1
        return self._node("human", {"description": "Answer."})

    def _short_counter(self) -> str:
        return self._counter(self.pick([1, 1, 2]))

    def _counter(self, most: int) -> str:
        config: dict[str, Any] = {"max_iterations": most}
        if self.chance(30):
            config["reset_on_emit"] = False
        if self.chance(50):
            config["message"] = self.pick(WORDS)
        return self._node("loop_counter", config)

    def _script(self) -> str:
        least = 0 if self.chance(8) else 1
        outputs = [self.some(WORDS, least, 2) for _ in range(self.dice(1, 4))]
        return self._node("script", {"outputs": outputs})

    def _subgraph(self) -> str:
        size = self.dice(1, 2)
        inner = type(self)(self.dice, size, self.scores, depth=1, in_subgraph=True)
        body = inner.graph_body("inner")
        self.humans += inner.humans
        config = {"graph": body} if self.chance(50) else {"type": "config", "config": body}
        return self._node("subgraph", config)

    # -- edges ----------------------------------------------------------------------------

    def _edge(self, source: str, target: str, **fields: Any) -> None:
        edge = {"from": source, "to": target, **fields}
        if edge not in self.edges:
            self.edges.append(edge)

    def _condition(self, harmless: int) -> dict[str, Any]:
        if self.chance(harmless):
            return {}
        some = [
            _keyword(any=[AGAIN, "1"]),
            _keyword(none=["blue"], case_sensitive=False),
            _keyword(regex=[r"\d", "^a"]),
            _keyword(any=["red"], none=["22"], regex=["E$"], case_sensitive=False),
            "true",
        ]
        return {"condition": self.pick(some)}

    def _add_random_edges(self, body: dict[str, Any]) -> None:
        """Up to two edges between any nodes; most that make two entries are taken back."""
        before = list(self.edges)
        for _ in range(self.pick([0, 0, 1, 1, 2])):
            source, target = self._random_source(), self.pick(self.nodes)["id"]
            kind = {"trigger": False} if self.chance(60) else self._condition(harmless=30)
            self._edge(source, target, **kind)
        if _two_entries({**body, "nodes": self.nodes, "edges": self.edges}) and self.chance(70):
            self.edges = before

    def _random_source(self) -> str:
        """Any node but a `loop` node, whose edges are its routes, and the sink."""
        sources: list[str] = [
            n["id"] for n in self.nodes if n["type"] != "loop" and n["id"] != self.sink
        ]
        return self.pick(sources)

    def _decorate_edges(self) -> None:
        for edge in self.edges:
            for flag, percent in [("keep_message", 8), ("clear_context", 6)]:
                if self.chance(percent):
                    edge[flag] = True
            if self.chance(4):
                edge["clear_kept_context"] = True
            if edge["to"] != self.sink and "process" not in edge:
                self._decorate_data(edge)

    def _decorate_data(self, edge: dict[str, Any]) -> None:
        if self.chance(5):
            edge["carry_data"] = False
        if self.chance(7):
            edge["process"] = {"type": "regex_extract", "config": self.pick(PROCESSES)}

    def _decorate_nodes(self) -> None:
        for node in self.nodes:
            entries = [e for e in self.edges if e["to"] == node["id"] and e.get("trigger", True)]
            if len(entries) > 1 and self.chance(5):
                node["join"] = "all"
            if self.chance(self.window_chance):
                node["context_window"] = self.pick([-1, 1, 2, 0])
        self._make_one_passthrough_plural()

    def _make_one_passthrough_plural(self) -> None:
        """Let one node pass on all it sees: with two of them in a loop, messages would double."""
        own_source = {e["from"] for e in self.edges if e["from"] == e["to"]}
        plain = [n for n in self.nodes if n["type"] == "passthrough"]
        plain = [n for n in plain if n["id"] not in own_source and n["id"] != self.sink]
        if plain and self.chance(40):
            node = self.pick(plain)
            node["config"] = {"only_last_message": False}
            node.pop("context_window", None)

    # -- contracts ------------------------------------------------------------------------

    def _add_contracts(self, body: dict[str, Any]) -> None:
        graph = read_graph({**body, "nodes": self.nodes, "edges": self.edges})
        loops = possible_loops(graph)
        contracts: dict[str, dict[str, Any]] = {}
        for head in sorted({loop.head for loop in loops}):
            headed = [loop for loop in loops if loop.head == head]
            if self.chance(96) and all(self._has_way_out(body, loop) for loop in headed):
                contracts[head] = self._contract()
        if contracts:
            body["loops"] = contracts

    def _contract(self) -> dict[str, Any]:
        contract: dict[str, Any] = {"max_rounds": self.pick([3, 2, 4, 3, 2, 3, 1])}
        if self.chance(35):
            contract["exit"] = self.pick(["now", "now", "round_end"])
        return contract

    def _has_way_out(self, body: dict[str, Any], loop: PossibleLoop, label: str = "limit") -> bool:
        """Whether the way out is clear, if need be after labelling one of the exits."""
        graph = read_graph({**body, "nodes": self.nodes, "edges": self.edges})
        if way_out_is_clear(graph, loop, label):
            return True
        if self.chance(5):
            return False
        if self.chance(75):
            self._edge(self.pick(sorted(loop.nodes)), self.sink, label=label)
            return True
        return self._label_an_exit(loop, label)

    def _label_an_exit(self, loop: PossibleLoop, label: str) -> bool:
        free = [
            e
            for e in self.edges
            if e["from"] in loop.nodes
            and e["to"] not in loop.nodes
            and e.get("trigger", True)
            and "label" not in e
        ]
        if free:
            self.pick(free)["label"] = label
        return bool(free)


def way_out_is_clear(graph: Graph, loop: PossibleLoop, label: str = "limit") -> bool:
    """Whether a contract that ends this loop knows where to go."""
    exits = exit_edges(graph, loop.nodes)
    return len(exits) < 2 or any(edge.label == label for edge in exits)


def _two_entries(body: dict[str, Any]) -> bool:
    document = {"graph": {**body, "limits": {"max_steps": TRIAL_STEPS}}}
    return interpret(document, "start 1", [AGAIN, DONE] * TRIAL_STEPS).reason == "two_entries"


def _keyword(**config: Any) -> dict[str, Any]:
    return {"type": "keyword", "config": config}
