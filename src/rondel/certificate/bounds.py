"""The bound of a loop: the most rounds of one entry, what sets that limit, and why it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rondel.certificate.flow import Flow, gives_key
from rondel.certificate.forest import Body
from rondel.certificate.guaranteed import fires_along, is_contract_way, is_sure
from rondel.certificate.loop_paths import Allowed, LoopPaths
from rondel.graph.components import reached
from rondel.graph.guarantees import Guarantee, LoopGuard, Telling, keeps_to
from rondel.graph.plan import Plan, PlanEdge
from rondel.graph.spec import LoopSpec

CONTRACT = "contract"
DEFAULT = "default"

MOST_GUARDS = 50
"""The most steering nodes that are looked at in one loop."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What bounds a loop, and what does not."""

    rounds: int
    source: str
    seconds: float | None = None
    """If time bounds it: the loop ends in the first round after this many seconds."""
    timed_by: str = ""
    asks: bool = False
    """Whether a person is asked when the bound or a budget of the loop is used up."""
    unproven: tuple[str, ...] = ()
    """What was meant to bound the loop, and why that cannot be proven."""
    apart: frozenset[int] = frozenset()
    """The edges out of the loop that never fire in a round that triggers its head again."""


def bound_of(body: Body, prover: Prover) -> Bound:
    """The bound of a loop: that of the engine, or a lower one that can be proven."""
    contract = body.contract
    declared = contract.max_rounds is not None
    rounds, source = body.cap, CONTRACT if declared else DEFAULT
    if body.scope is None:
        return Bound(rounds, source)
    proofs = prover.proofs(body)
    proven = [proof for proof in proofs if proof.holds]
    for proof in proven:
        reached = proof.guard.rounds
        if reached is not None and (reached < rounds or (reached == rounds and source == DEFAULT)):
            rounds, source = reached, proof.source
    seconds, timed_by = _time(contract, proven)
    if source == DEFAULT and timed_by:
        source = timed_by
    return Bound(
        rounds,
        source,
        seconds,
        timed_by,
        asks=contract.on_limit == "ask",
        unproven=tuple(
            f"{proof.source} is not proven to bound it: {proof.refuted}"
            for proof in proofs
            if not proof.holds
        ),
        apart=prover.apart(body),
    )


def _time(contract: LoopSpec, proven: Sequence[Proof]) -> tuple[float | None, str]:
    """The shortest time after which the loop ends, and the text that names that limit."""
    found = [
        (proof.guard.seconds, proof.source) for proof in proven if proof.guard.seconds is not None
    ]
    if contract.budget.wall_time is not None:
        found.append((contract.budget.wall_time, f"{CONTRACT} (wall_time)"))
    return min(found, default=(None, ""))


@dataclass(frozen=True, slots=True)
class Proof:
    """What was proven of one node that steers a loop."""

    node: str
    guard: LoopGuard
    refuted: str = ""
    """Why the node does not bound the loop; empty if it does."""

    @property
    def holds(self) -> bool:
        """Whether the loop never exceeds the rounds or time that the guard says."""
        return not self.refuted

    @property
    def source(self) -> str:
        """The text that names the bound."""
        return self.guard.source.format(repr(self.node))


class Prover:
    """Looks for bounds that nodes give the loops around them."""

    def __init__(self, plan: Plan, guarantees: Sequence[Guarantee]) -> None:
        self._plan = plan
        self._guarantees = guarantees
        self._flows: dict[str, Flow] = {}

    def proofs(self, body: Body) -> list[Proof]:
        """One for each node that steers this loop, those with the lowest bounds first."""
        steering = [
            (guard, node)
            for node in body.plain
            if (guard := self._guarantees[node].guard) is not None
        ]
        if not steering:
            return []
        steering.sort(key=lambda pair: (pair[0].rounds is None, pair[0].rounds, pair[1]))
        ways = LoopPaths(self._plan, body)
        return [
            Proof(self._plan.nodes[node].id, guard, self._refuted(ways, node, guard))
            for guard, node in steering[:MOST_GUARDS]
        ]

    def _refuted(self, ways: LoopPaths, node: int, guard: LoopGuard) -> str:
        """Why the node does not bound the loop, or an empty text."""
        regression = ways.body.contract.regression
        if regression is not None and regression.action == "rollback":
            return "the contract's rollback may start a round that nothing triggered"
        if guard.misled_by and (source := self._misleading(node, guard.misled_by)):
            return f"it goes by data.{guard.misled_by}, which may come from {source}"
        taken = self._taken(node, guard)
        if self._stops_the_way(ways, node, guard, taken):
            return ""
        return self._no_exit(ways, node, taken) or self._way_past(ways, node)

    def _misleading(self, node: int, key: str) -> str | None:
        if key not in self._flows:
            self._flows[key] = Flow(self._plan, self._guarantees, gives_key(key))
        return self._flows[key].source(node)

    def apart(self, body: Body) -> frozenset[int]:
        """The edges out of a loop that never fire in a round that triggers its head again.

        Their source takes either them or an edge that leads back, and no other path leads back.
        """
        choosing = [node for node in body.plain if self._guarantees[node].alternatives is not None]
        inside = set(body.nodes) if choosing else set()
        found: set[int] = set()
        ways: LoopPaths | None = None
        for node in choosing[:MOST_GUARDS]:
            leaving = {e.index for e in self._out(node) if e.target not in inside}
            if leaving:
                ways = ways or LoopPaths(self._plan, body)
                found |= leaving - self._firing_beside(ways, node)
        return frozenset(found)

    def _firing_beside(self, ways: LoopPaths, node: int) -> set[int]:
        """The edges that a node may take while a path back to the head remains."""
        alternatives = self._guarantees[node].alternatives
        assert alternatives is not None  # noqa: S101
        edges = self._out(node)
        beside: set[int] = set()
        for way in alternatives([edge.spec for edge in edges]):
            chosen = {id(spec) for spec in way}
            taken = {edge.index for edge in edges if id(edge.spec) in chosen}
            if self._goes_round(ways, node, taken):
                beside |= taken
        return beside

    def _goes_round(self, ways: LoopPaths, node: int, taken: set[int]) -> bool:
        """Whether a path back to the head remains when the node takes only these edges."""
        way = ways.around(None, lambda at, edge: at != node or edge.index in taken)
        return way is not None

    def _out(self, node: int) -> list[PlanEdge]:
        return [self._plan.edges[index] for index in self._plan.nodes[node].out]

    # At the limit

    def _taken(self, node: int, guard: LoopGuard) -> list[PlanEdge]:
        """The edges that may fire once the limit is reached."""
        edges = self._out(node)
        if guard.ways is not None:
            specs = [edge.spec for edge in edges]
            chosen = {id(spec) for spec in guard.ways(specs)}
            edges = [edge for edge in edges if id(edge.spec) in chosen]
        if guard.says is not None:
            edges = [edge for edge in edges if _can_hold(edge, guard)]
        return edges

    def _stops_the_way(
        self, ways: LoopPaths, node: int, guard: LoopGuard, taken: Sequence[PlanEdge]
    ) -> bool:
        """Whether no path back to the head remains past the limit."""
        if guard.ways is None and guard.says is None:
            return False
        return not self._goes_round(ways, node, {edge.index for edge in taken})

    def _no_exit(self, ways: LoopPaths, node: int, taken: Sequence[PlanEdge]) -> str:
        """Why the node may reach its limit without ending the loop, or an empty text."""
        inside = set(ways.body.nodes)
        leaving = [edge for edge in taken if edge.trigger and edge.target not in inside]
        if not leaving:
            return "no edge that it takes at its limit leaves the loop"
        if all(is_contract_way(edge) for edge in leaving):
            return "only the contract takes its edge out of the loop"
        if not any(is_sure(edge) and not is_contract_way(edge) for edge in leaving):
            return "its edge out of the loop has a condition or may drop the message"
        if self._plan.nodes[node].spec.on_error != "fail":
            return "its errors do not end the run, so it may fail to count"
        return ""

    # In every round

    def _way_past(self, ways: LoopPaths, node: int) -> str:
        """A sentence with a path round the loop that avoids the node, or an empty text."""
        scope = ways.body.scope
        assert scope is not None  # noqa: S101
        if node != scope.head and scope.quorum[scope.item_of[node]] > 1:
            return "it waits for several edges (join: all), which need not all fire"
        way = ways.around(node, self._not_along(ways.body, node))
        if way is None:
            return ""
        names = [self._plan.nodes[each].name for each in way]
        shown = names if len(names) <= 8 else [*names[:4], "...", *names[-3:]]
        return f"the way {' -> '.join(shown)} does not pass it"

    def _not_along(self, body: Body, node: int) -> Allowed:
        """Whether an edge may fire without the node running in the same round."""
        leading = self._leading_to(body, node)
        beside: dict[int, list[PlanEdge]] = {}
        for target in leading:
            for index in self._plan.nodes[target].into:
                edge = self._plan.edges[index]
                if edge.trigger and not self._guarantees[edge.source].routes:
                    beside.setdefault(edge.source, []).append(edge)
        inside = set(body.plain)

        def allowed(source: int, edge: PlanEdge) -> bool:
            return edge.target not in leading and not any(
                fires_along(edge, other)
                for other in beside.get(source, ())
                if source in inside or not is_contract_way(other)
            )

        return allowed

    def _leading_to(self, body: Body, node: int) -> set[int]:
        """The nodes that cannot run in a round without this one running in it too."""
        plain = set(body.plain)
        return reached([node], lambda to: plain.intersection(self._sure_sources(body, to)))

    def _sure_sources(self, body: Body, node: int) -> Iterator[int]:
        """The nodes that trigger this one whenever they run."""
        scope = body.scope
        assert scope is not None  # noqa: S101
        for index in self._plan.nodes[node].into:
            edge = self._plan.edges[index]
            guarantee, spec = self._guarantees[edge.source], self._plan.nodes[edge.source].spec
            item = scope.item_of.get(edge.source)
            if item is None or edge.source == scope.head or scope.quorum[item] > 1:
                continue
            if (
                guarantee.emits
                and not guarantee.routes
                and spec.on_error == "fail"
                and is_sure(edge)
            ):
                yield edge.source


def _can_hold(edge: PlanEdge, guard: LoopGuard) -> bool:
    """Whether the edge may fire for something that the node can say past the limit."""
    condition = edge.spec.condition
    if condition.ready is not None or not keeps_to(condition.config, Telling):
        return True
    told = (condition.config.holds_for(data, guard.open_keys) for data in guard.says or ())
    return any(passes is not False for passes in told)
