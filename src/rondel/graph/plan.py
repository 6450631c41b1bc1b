"""A compiled graph: the loop forest as integers and tuples, ready to run.

A `Plan` numbers every node and edge, those of inner graphs included. A `Scope` is a graph or
one loop entered at one head: its items are plain nodes and `InnerLoop`s, it is
acyclic, and it knows for each item what waits for it and where its edges lead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rondel.graph.guarantees import Recall
from rondel.graph.spec import (
    DEFAULT_MAX_ROUNDS,
    Dialect,
    EdgeSpec,
    GraphSpec,
    LoopSpec,
    NodeSpec,
    PlanScore,
)

if TYPE_CHECKING:
    from rondel.graph.components import Ordering

HEAD: Final = -1
"""The landing place of an edge back to its loop's head."""

CONTRACT_LABELS = ("goal", "limit")
"""Labels of the edges out of a loop that only its contract takes."""


class PlanEdge:
    """An edge by number."""

    __slots__ = (
        "carry",
        "clear",
        "clear_kept",
        "index",
        "keep",
        "marks",
        "source",
        "spec",
        "target",
        "touches",
        "trigger",
    )

    def __init__(self, index: int, source: int, target: int, spec: EdgeSpec) -> None:
        self.index = index
        self.source = source
        self.target = target
        self.spec = spec
        self.trigger = spec.trigger
        self.carry = spec.carry_data
        self.keep = spec.keep_message
        self.clear = spec.clear_context
        self.clear_kept = spec.clear_kept_context
        self.touches = self.carry or self.clear or self.clear_kept
        """Whether a delivery leaves a trace in the target's context."""
        self.marks = self.keep or self.clear or self.clear_kept
        """Whether it does more than deliver its message."""


class PlanNode:
    """A node by number; `id` is its public name, `name` its id in its own graph."""

    __slots__ = (
        "id",
        "index",
        "inner",
        "into",
        "is_end",
        "name",
        "out",
        "owner",
        "recall",
        "spec",
        "window",
    )

    def __init__(self, index: int, spec: NodeSpec, owner: PlanNode | None, recall: Recall) -> None:
        self.index = index
        self.id: str = spec.id if owner is None else f"{owner.id}/{spec.id}"
        self.name = spec.id
        self.spec = spec
        self.window = spec.context_window
        self.recall = recall
        self.out: list[int] = []
        self.into: list[int] = []
        self.inner: Scope | None = None
        self.owner = None if owner is None else owner.index
        """The node whose inner graph this node is in."""
        self.is_end = False
        """Whether it is an end node: its output is part of its graph's output."""


class ScopedEdge:
    """An edge as its source sees it in one scope: how many loops it leaves, where it lands."""

    __slots__ = (
        "carry",
        "edge",
        "hops",
        "into_group",
        "item",
        "marked",
        "near",
        "target",
        "touches",
        "trigger",
    )

    def __init__(self, edge: PlanEdge, hops: int, item: int, *, into_group: bool) -> None:
        self.edge = edge.index
        self.target = edge.target
        self.trigger = edge.trigger
        self.hops = hops
        self.item = item
        self.into_group = into_group
        self.near = edge.trigger and not hops and not into_group
        """Whether it triggers a node of its own scope, or the loop's head."""
        self.touches = edge.touches
        self.carry = edge.carry
        self.marked = edge if edge.marks else None
        """The edge, if it does more than deliver its message."""


class InnerLoop:
    """A loop as an item of the scope around it; which scope it runs depends on its head."""

    __slots__ = ("compile", "entries", "nodes", "quorum", "scopes")

    def __init__(
        self, nodes: tuple[int, ...], entries: tuple[int, ...], quorum: dict[int, int]
    ) -> None:
        self.nodes = nodes
        self.entries = entries
        self.quorum = quorum
        self.compile: Callable[[int], Scope] | None = None
        self.scopes: dict[int, Scope] = {}

    def scope(self, head: int) -> Scope:
        """The loop as entered at `head`, compiled once."""
        scope = self.scopes.get(head)
        if scope is None:
            assert self.compile is not None  # noqa: S101
            scope = self.scopes[head] = self.compile(head)
        return scope


NO_CONTRACT: Final = LoopSpec("")


class Scope:
    """A graph (`head` None) or a loop entered at `head`, as an acyclic set of items."""

    __slots__ = (
        "carry",
        "contract",
        "dialect",
        "ends",
        "exit_now",
        "exits",
        "goal_ways",
        "has_budget",
        "has_goal",
        "has_until",
        "head",
        "heeds_setbacks",
        "item_of",
        "items",
        "last_level",
        "levels",
        "limit_ways",
        "listens",
        "max_rounds",
        "name",
        "nodes",
        "parent",
        "parent_item",
        "quorum",
        "scoped_edges",
        "scores",
        "settles",
        "starts",
        "strays",
        "target",
        "tracked",
        "waits",
        "ways",
    )

    def __init__(
        self,
        parent: Scope | None,
        parent_item: int,
        head: int | None,
        name: str,
        nodes: tuple[int, ...],
        item_of: dict[int, int],
        order: Ordering,
        dialect: Dialect,
    ) -> None:
        self.parent = parent
        self.parent_item = parent_item
        self.head = head
        self.name = name
        self.nodes = nodes
        self.item_of = item_of
        self.levels = order.levels
        self.last_level = max(order.levels, default=0)
        self.waits = order.waits
        self.settles = order.settles
        entered = -1 if head is None else item_of[head]
        self.strays = [i for i, waits in enumerate(order.waits) if waits == 0 and i != entered]
        """In a loop, the items that nothing in it triggers, without the head."""
        self.dialect = dialect
        self.exit_now = dialect.by_level
        self.items: tuple[int | InnerLoop, ...] = ()
        self.quorum: tuple[int, ...] = ()
        self.scoped_edges: tuple[dict[int, ScopedEdge], ...] = ()
        self.starts: tuple[int, ...] = ()
        self.ends: tuple[int, ...] = ()
        self.exits: tuple[int, ...] = ()
        """The trigger edges that leave this loop, in file order."""
        self.limit_ways: tuple[int, ...] = ()
        self.goal_ways: tuple[int, ...] = ()
        self.ways: frozenset[int] = frozenset()
        self.tracked: tuple[tuple[ScopedEdge, ...], ...] = ()
        """Per item, its edges that some contract around it may take as the way out."""
        self.max_rounds = DEFAULT_MAX_ROUNDS
        self.agree(NO_CONTRACT)
        self.scores: tuple[PlanScore, ...] = ()
        """The scores to look for in its steps: this loop's, then those of the loops around it."""
        self.listens = False
        """Whether this loop or one around it has an `until`, which reads what a round said."""

    def agree(self, contract: LoopSpec) -> None:
        """Take this contract; what every round asks of it becomes an attribute."""
        self.contract = contract
        self.target = contract.target
        self.has_until = contract.until is not None
        """Whether the contract has an `until`."""
        self.has_budget = contract.budget.bounds
        self.has_goal = contract.has_goal
        self.heeds_setbacks = contract.regression is not None or contract.patience is not None
        self.carry = contract.carry


class Plan:
    """Everything about a graph's structure that running it needs."""

    __slots__ = ("ages", "edges", "max_steps", "max_wall_time", "nodes", "root", "spec")

    def __init__(
        self,
        spec: GraphSpec,
        nodes: list[PlanNode],
        edges: list[PlanEdge],
        root: Scope,
        *,
        ages: bool,
    ) -> None:
        self.spec = spec
        self.nodes = nodes
        self.edges = edges
        self.root = root
        self.max_steps = spec.limits.max_steps
        self.max_wall_time = spec.limits.budget.wall_time
        self.ages = ages
        """Whether some loop has `carry`: its nodes forget what they retained in older rounds."""
        for scope in (root, *[node.inner for node in nodes if node.inner is not None]):
            for end in scope.ends:
                nodes[end].is_end = True

    def node(self, public_id: str) -> PlanNode | None:
        """The node of that public id, if there is one."""
        return next((node for node in self.nodes if node.id == public_id), None)
