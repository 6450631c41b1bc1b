"""A compiled graph: the loop forest as integers and tuples, ready to run.

A `Plan` numbers every node and edge, those of inner graphs included. A `Scope` is a graph or
one loop entered at one head: its items are plain nodes and `Group`s (inner loops), it is
acyclic, and it knows for each item what waits for it and where its edges lead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from rondel.graph.spec import (
    DEFAULT_MAX_ROUNDS,
    OWN,
    Dialect,
    EdgeSpec,
    GraphSpec,
    LoopSpec,
    NodeSpec,
)

if TYPE_CHECKING:
    from rondel.graph.links import Link

HEAD = -1
"""Where an edge lands that leads back to its loop's head."""

CONTRACT_LABELS = ("goal", "limit")
"""Labels of the edges out of a loop that only its contract takes."""


class PlanEdge(msgspec.Struct, eq=False):
    """An edge by number."""

    index: int
    source: int
    target: int
    spec: EdgeSpec
    trigger: bool
    carry: bool
    keep: bool
    clear: bool
    clear_kept: bool
    touches: bool
    """Whether a delivery leaves a trace in the target's context."""

    @property
    def marks(self) -> bool:
        """Whether it does more than deliver."""
        return self.keep or self.clear or self.clear_kept


class PlanNode(msgspec.Struct, eq=False):
    """A node by number; `id` is its public name, `name` its id in its own graph."""

    index: int
    id: str
    name: str
    spec: NodeSpec
    window: int
    out: list[int] = msgspec.field(default_factory=list)
    into: list[int] = msgspec.field(default_factory=list)
    inner: Scope | None = None
    owner: int | None = None
    """The node whose inner graph this node is in."""


class Wire(msgspec.Struct, eq=False):
    """An edge as its source sees it in one scope: how many loops it leaves, where it lands."""

    edge: int
    target: int
    trigger: bool
    hops: int
    item: int
    into_group: bool
    near: bool
    """Whether it triggers a node of its own scope, or the loop's head."""
    touches: bool
    carry: bool
    marked: PlanEdge | None
    """The edge, if it does more than deliver."""


class Group(msgspec.Struct, eq=False):
    """A loop as an item of the scope around it; which scope it runs depends on its head."""

    nodes: tuple[int, ...]
    entries: tuple[int, ...]
    quorum: dict[int, int]
    compile: Callable[[int], Scope]
    scopes: dict[int, Scope] = msgspec.field(default_factory=dict)

    def scope(self, head: int) -> Scope:
        """The loop as entered at `head`, compiled once."""
        scope = self.scopes.get(head)
        if scope is None:
            scope = self.scopes[head] = self.compile(head)
        return scope


class PlanGauge(msgspec.Struct, frozen=True):
    """Where a loop's value is: a path in the data of one node's messages, or of anyone's."""

    path: tuple[str, ...]
    node: int | None = None


NO_CONTRACT = LoopSpec("")


class Scope(msgspec.Struct, eq=False):
    """A graph (`head` None) or a loop entered at `head`, as an acyclic set of items."""

    parent: Scope | None
    parent_item: int
    head: int | None
    name: str
    nodes: tuple[int, ...]
    items: tuple[int | Group, ...]
    item_of: dict[int, int]
    levels: tuple[int, ...]
    waits: list[int]
    quorum: tuple[int, ...]
    settles: tuple[tuple[tuple[int, int], ...], ...]
    wires: tuple[dict[int, Wire], ...] = ()
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    dialect: Dialect = OWN
    exits: tuple[int, ...] = ()
    """The trigger edges that leave this loop, in file order."""
    limit_ways: tuple[int, ...] = ()
    goal_ways: tuple[int, ...] = ()
    ways: frozenset[int] = frozenset()
    tracked: tuple[tuple[Wire, ...], ...] = ()
    """Per item, its wires that some contract around it may take as the way out."""
    max_rounds: int = DEFAULT_MAX_ROUNDS
    exit_now: bool = False
    contract: LoopSpec = NO_CONTRACT
    gauges: tuple[PlanGauge, ...] = ()
    """The values that this loop, first, and the loops around it look for in its steps."""
    listens: bool = False
    """Whether this loop or one around it judges its rounds by all that was said in them."""
    last_level: int = 0
    links: tuple[Link | None, ...] | None = None
    """Per item, what follows straight on it; found when the scope is first entered."""


class Plan(msgspec.Struct, eq=False):
    """Everything about a graph's structure that running it needs."""

    spec: GraphSpec
    nodes: list[PlanNode]
    edges: list[PlanEdge]
    root: Scope
    max_steps: int
    ages: bool = False
    """Whether some loop forgets what its nodes retained in older rounds."""

    def node(self, public_id: str) -> PlanNode | None:
        """The node of that public id, if there is one."""
        return next((node for node in self.nodes if node.id == public_id), None)
