"""Compiling: from a checked graph to the loop forest, once, before anything runs.

The strongly connected parts of a scope, over its trigger edges, are its loops. Inside a loop,
the edges into its head are cut and what is left is split in the same way. A data-only edge orders
its target after its source wherever that closes no cycle; such edges are taken in file order.
"""

from __future__ import annotations

import gc
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter

from msgspec.structs import replace

from rondel.errors import GraphError, Problem
from rondel.graph.components import ordering_of, reached, strong_components
from rondel.graph.guarantees import recall_of
from rondel.graph.plan import (
    CONTRACT_LABELS,
    HEAD,
    InnerLoop,
    Plan,
    PlanEdge,
    PlanNode,
    Scope,
    ScopedEdge,
)
from rondel.graph.spec import Dialect, EdgeSpec, GraphSpec, LoopSpec, NodeSpec, PlanScore, ScoreSpec

DEFAULT_SCORE = PlanScore(ScoreSpec().path)
EAGER_FACTOR = 8
"""A loop with many entries is compiled once for each, up to this multiple of the graph's size in
all; the entries after that are compiled when they are first needed."""


@contextmanager
def collector_held() -> Iterator[None]:
    """Pause the garbage collector: building a graph makes many objects and drops few."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@collector_held()
def compile_graph(spec: GraphSpec) -> Plan:
    """The plan of a graph; raises GraphError with everything that is wrong with its structure."""
    compiler = _Compiler(spec)
    root = compiler.compile_all()
    if compiler.problems:
        raise GraphError(compiler.problems)
    ages = any(loop.carry is not None for loop in compiler.loops.values())
    return Plan(spec, compiler.nodes, compiler.edges, root, ages=ages)


class _Compiler:
    def __init__(self, spec: GraphSpec) -> None:
        self.spec = spec
        self.nodes: list[PlanNode] = []
        self.edges: list[PlanEdge] = []
        self._out: list[list[PlanEdge]] = []
        self._into: list[list[PlanEdge]] = []
        self.problems: list[Problem] = []
        self.loops: dict[int, LoopSpec] = {}
        self._scores: dict[int, PlanScore] = {}
        self._headed: set[int] = set()
        self._file: dict[int, str] = {}
        self._budget = 0
        self._complete = True
        """Whether every loop is compiled; else some heads are not known before the run."""

    def compile_all(self) -> Scope:
        """The root scope, with every inner graph and every loop below it."""
        root = self._graph_scope(self.spec, None)
        for node in self.nodes:  # those of inner graphs are added meanwhile
            if node.spec.inner is not None:
                node.inner = self._graph_scope(node.spec.inner, node)
        self._check_contract_heads()
        return root

    # Numbering

    def _number(self, graph: GraphSpec, owner: PlanNode | None) -> None:
        self._index: dict[str, int] = {}
        for node_spec in graph.nodes:
            node = self._add_node(node_spec, owner, graph.dialect)
            self._index[node_spec.id] = node.index
            self._file[node.index] = graph.file
            if node_spec.inner is not None:
                self._check_inner(node)
        for edge_spec in graph.edges:
            self._add_edge(edge_spec)
        for loop in graph.loops.values():
            head = self._index[loop.head]
            self.loops[head] = loop
            whose = loop.score.node
            measured = None if whose is None else self._index[whose]
            self._scores[head] = PlanScore(loop.score.path, measured)
        self._budget = EAGER_FACTOR * (len(self.nodes) + len(self.edges)) + 1000

    def _add_node(self, spec: NodeSpec, owner: PlanNode | None, dialect: Dialect) -> PlanNode:
        node = PlanNode(len(self.nodes), spec, owner, recall_of(spec, dialect))
        self.nodes.append(node)
        self._out.append([])
        self._into.append([])
        return node

    def _add_edge(self, spec: EdgeSpec) -> None:
        source, target = self._index[spec.source], self._index[spec.target]
        edge = PlanEdge(len(self.edges), source, target, spec)
        self.edges.append(edge)
        self.nodes[source].out.append(edge.index)
        self.nodes[target].into.append(edge.index)
        if spec.dynamic is not None:  # nobody can tell which run of an earlier step said what
            self.nodes[target].recall = replace(self.nodes[target].recall, own=0)
        self._out[source].append(edge)
        self._into[target].append(edge)

    # Scopes

    def _graph_scope(self, graph: GraphSpec, owner: PlanNode | None) -> Scope:
        self._number(graph, owner)
        starts = [self._index[name] for name in graph.start]
        everyone = sorted(self._index.values())
        out = self._out
        reachable = reached(starts, lambda node: [e.target for e in out[node] if e.trigger])
        dialect = graph.dialect
        nodes = [node for node in everyone if dialect.data_edges_bind or node in reachable]
        scope = self._scope(nodes, set(everyone), None, starts, None, 0, dialect)
        scope.starts = tuple(starts)
        ends = [self._index[name] for name in graph.end]
        if dialect.sinks_yield:
            ends += [node for node in everyone if not self.nodes[node].out]
        scope.ends = tuple(dict.fromkeys(ends))
        self._check_starts(scope)
        self._compile_loops(scope)
        return scope

    def _compile_loops(self, scope: Scope) -> None:
        """Depth first: a loop with one entry always, further entries while the budget lasts."""
        work = _entries(scope)
        while work:
            group, head = work.pop()
            if len(group.entries) > 1 and self._budget <= 0:
                self._complete = False
                continue
            work.extend(_entries(group.scope(head)))
            self._headed.update(group.entries)

    def _loop_scope(self, group: InnerLoop, head: int, parent: Scope, item: int) -> Scope:
        members, dialect = group.nodes, parent.dialect
        scope = self._scope(list(members), set(members), head, [head], parent, item, dialect)
        contract = self.loops.get(head)
        if contract is not None:
            scope.agree(contract)
            scope.exit_now = dialect.by_level or contract.exit == "now"
            scope.max_rounds = contract.max_rounds or scope.max_rounds
            self._check_score(scope, head, contract)
        around = parent.scores
        scope.scores = tuple(dict.fromkeys((self._scores.get(head, DEFAULT_SCORE), *around)))
        scope.listens = scope.contract.until is not None or parent.listens
        self._find_exits(scope, head, contract)
        return scope

    def _scope(
        self,
        nodes: list[int],
        voters: set[int],
        head: int | None,
        roots: Sequence[int],
        parent: Scope | None,
        parent_item: int,
        dialect: Dialect,
    ) -> Scope:
        self._budget -= sum(1 + len(self.nodes[node].out) for node in nodes)
        binds = dialect.data_edges_bind and head is None
        items, item_of = self._items(nodes, head, data_edges_bind=binds)
        triggers, others = self._between(nodes, head, item_of)
        if dialect.data_edges_bind and head is not None:
            others = []
        order = ordering_of(triggers, others, len(items), [item_of[root] for root in roots])
        name = "" if head is None else self.nodes[head].name
        scope = Scope(parent, parent_item, head, name, tuple(nodes), item_of, order, dialect)
        scope.items = tuple(
            [
                self._group(members, scope, number, voters, roots if head is None else ())
                if looped
                else members[0]
                for number, (members, looped) in enumerate(items)
            ]
        )
        scope.quorum = tuple(
            [
                1 if isinstance(item, InnerLoop) else self._quorum(item, voters, (item,))
                for item in scope.items
            ]
        )
        scope.scoped_edges = tuple(
            [
                {}
                if isinstance(item, InnerLoop)
                else {edge.index: self._scoped_edge(edge, scope) for edge in self._out[item]}
                for item in scope.items
            ]
        )
        scope.tracked = ((),) * len(scope.items)
        return scope

    def _items(
        self, nodes: list[int], head: int | None, *, data_edges_bind: bool
    ) -> tuple[list[tuple[list[int], bool]], dict[int, int]]:
        local = {node: number for number, node in enumerate(nodes)}
        successors = [
            [
                local[edge.target]
                for edge in self._out[node]
                if (edge.trigger or data_edges_bind)
                and edge.target != head
                and edge.target in local
            ]
            for node in nodes
        ]
        items = []
        for component in strong_components(len(nodes), successors):
            first = component[0]
            looped = len(component) > 1 or first in successors[first]
            members = [nodes[number] for number in component]
            members.sort()
            items.append((members, looped))
        items.sort()
        item_of = {node: number for number, (members, _) in enumerate(items) for node in members}
        return items, item_of

    def _between(
        self, nodes: list[int], head: int | None, item_of: dict[int, int]
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The edges between items in file order: those that trigger, and those that do not."""
        edges = [
            edge
            for node in nodes
            for edge in self._out[node]
            if edge.target != head
            and edge.target in item_of
            and item_of[edge.target] != item_of[node]
        ]
        edges.sort(key=attrgetter("index"))
        triggers = [(item_of[e.source], item_of[e.target]) for e in edges if e.trigger]
        return triggers, [(item_of[e.source], item_of[e.target]) for e in edges if not e.trigger]

    def _group(
        self,
        members: list[int],
        scope: Scope,
        number: int,
        voters: set[int],
        starts: Sequence[int],
    ) -> InnerLoop:
        inside = set(members)
        entries = tuple(
            node
            for node in members
            if node in starts
            or any(
                edge.trigger and edge.source not in inside and edge.source in scope.item_of
                for edge in self._into[node]
            )
        )
        quorum = {node: self._quorum(node, voters, inside) for node in entries}
        group = InnerLoop(tuple(members), entries, quorum)
        group.compile = lambda head: self._loop_scope(group, head, scope, number)
        return group

    def _quorum(self, node: int, voters: set[int], inside: Container[int]) -> int:
        """How many trigger edges must fire for the node to run."""
        if self.nodes[node].spec.join == "any":
            return 1
        edges = self._into[node]
        votes = sum(e.trigger and e.source in voters and e.source not in inside for e in edges)
        return max(votes, 1)

    # Edges

    def _scoped_edge(self, edge: PlanEdge, scope: Scope) -> ScopedEdge:
        hops = 0
        place: Scope = scope
        while edge.target not in place.item_of and place.parent is not None:
            place = place.parent
            hops += 1
        item = HEAD if edge.target == place.head else place.item_of.get(edge.target, HEAD)
        into_group = item != HEAD and isinstance(place.items[item], InnerLoop)
        return ScopedEdge(edge, hops, item, into_group=into_group)

    def _find_exits(self, scope: Scope, head: int, contract: LoopSpec | None) -> None:
        inside = set(scope.nodes)
        exits = sorted(
            edge.index
            for node in scope.nodes
            for edge in self._out[node]
            if edge.trigger and edge.target not in inside
        )
        scope.exits = tuple(exits)
        if scope.dialect.silent_limit:
            return
        scope.goal_ways = self._ways_out(exits, "goal")
        scope.limit_ways = self._ways_out(exits, "limit")
        scope.ways = frozenset(scope.goal_ways + scope.limit_ways)
        scope.tracked = tuple(
            tuple(
                scoped
                for scoped in scoped_edges.values()
                if scoped.hops and self._is_way(scoped, scope)
            )
            for scoped_edges in scope.scoped_edges
        )
        if contract is not None and contract.ends_at_limit:
            self._check_way_out(scope, head, contract, "limit")
        if contract is not None and contract.has_goal:
            self._check_way_out(scope, head, contract, "goal")

    def _ways_out(self, exits: list[int], label: str) -> tuple[int, ...]:
        labels = {index: self.edges[index].spec.label for index in exits}
        labelled = tuple(index for index in exits if labels[index] == label)
        if labelled:
            return labelled
        plain = tuple(index for index in exits if labels[index] not in CONTRACT_LABELS)
        candidates = plain or tuple(exits)
        return candidates if len(candidates) == 1 else ()

    def _is_way(self, scoped: ScopedEdge, scope: Scope) -> bool:
        place: Scope | None = scope
        while place is not None and place.head is not None:
            if scoped.edge in place.ways:
                return True
            place = place.parent
        return False

    # Checks

    def _check_inner(self, node: PlanNode) -> None:
        spec = node.spec
        plain = spec.on_error == "fail" and spec.retry.max_attempts == 1
        if not plain or spec.timeout is not None:
            message = f"the node {spec.id!r} holds a graph; it takes no timeout, retry or on_error"
            hint = "set them on the nodes inside it"
            self._problem(node.index, f"graph.nodes.{node.name}", message, hint, spec.line)

    def _check_starts(self, scope: Scope) -> None:
        heads: dict[int, int] = {}
        for node in scope.starts:
            other = heads.setdefault(scope.item_of[node], node)
            if other != node:
                names = f"{self.nodes[other].name!r} and {self.nodes[node].name!r}"
                message = f"the start nodes {names} are in one loop"
                hint = "a loop is entered at one node; start only one of them"
                self._problem(node, "graph.start", message, hint, self.nodes[node].spec.line)

    def _check_contract_heads(self) -> None:
        for head, contract in self.loops.items():
            if head not in self._headed and self._complete:
                known = ", ".join(sorted(self.nodes[head].name for head in self._headed))
                hint = f"loops here are entered at: {known}" if known else "this graph has no loop"
                self._loop_problem(head, contract, f"{contract.head!r} heads no loop", hint)

    def _check_score(self, scope: Scope, head: int, contract: LoopSpec) -> None:
        node = self._scores[head].node
        if node is not None and node not in scope.nodes:
            whose, names = contract.score.node, [self.nodes[each].name for each in scope.nodes]
            message = (
                f"the contract of loop {contract.head!r} reads the score of {whose!r}, "
                "which is not in the loop"
            )
            self._loop_problem(head, contract, message, f"its nodes are: {', '.join(names)}")

    def _check_way_out(self, scope: Scope, head: int, contract: LoopSpec, label: str) -> None:
        ways = scope.goal_ways if label == "goal" else scope.limit_ways
        if len(scope.exits) > 1 and not ways:
            specs = [self.edges[index].spec for index in scope.exits]
            names = ", ".join(f"{spec.source} -> {spec.target}" for spec in specs)
            message = (
                f"the contract of loop {contract.head!r} can end it, but it has several exits "
                f"({names})"
            )
            hint = f"set `label: {label}` on the edge to take then"
            self._loop_problem(head, contract, message, hint)

    def _loop_problem(self, head: int, contract: LoopSpec, message: str, hint: str) -> None:
        path = f"graph.loops.{self.nodes[head].name}"
        self._problem(head, path, message, hint, contract.line)

    def _problem(self, node: int, path: str, message: str, hint: str, line: int | None) -> None:
        problem = Problem(message, path, hint, self._file[node], line)
        if problem not in self.problems:
            self.problems.append(problem)


def _entries(scope: Scope) -> list[tuple[InnerLoop, int]]:
    """The loops of a scope with their entries, the first one last."""
    groups = [item for item in scope.items if isinstance(item, InnerLoop)]
    return [(group, head) for group in reversed(groups) for head in reversed(group.entries)]
