"""The most that something costs: steps, model calls, tokens, money; and a graph at its worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rondel.certificate.bounds import Bound
from rondel.certificate.forest import Body, Forest, forest_of
from rondel.certificate.guaranteed import guarantee_of, is_contract_way, may_fire
from rondel.errors import Problem
from rondel.graph.guarantees import Guarantee
from rondel.graph.plan import Plan
from rondel.graph.spec import BudgetSpec

Amount = TypeVar("Amount", int, float)


@dataclass(frozen=True, slots=True)
class Cost:
    """The most of each figure; None means no bound."""

    steps: int = 0
    calls: int | None = 0
    tokens: int | None = 0
    usd: float | None = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.steps + other.steps,
            _sum(self.calls, other.calls),
            _sum(self.tokens, other.tokens),
            _sum(self.usd, other.usd),
        )

    def times(self, count: int) -> Cost:
        """The cost of `count` of these."""
        if count == 0:
            return NOTHING
        return Cost(
            self.steps * count,
            None if self.calls is None else self.calls * count,
            None if self.tokens is None else self.tokens * count,
            None if self.usd is None else self.usd * count,
        )

    def or_more(self, other: Cost) -> Cost:
        """The larger of the two, figure by figure."""
        return Cost(
            max(self.steps, other.steps),
            _larger(self.calls, other.calls),
            _larger(self.tokens, other.tokens),
            _larger(self.usd, other.usd),
        )

    def at_most(self, other: Cost) -> Cost:
        """The smaller of the two, figure by figure."""
        return Cost(
            min(self.steps, other.steps),
            smaller(self.calls, other.calls),
            smaller(self.tokens, other.tokens),
            smaller(self.usd, other.usd),
        )


NOTHING = Cost()


def smaller(one: Amount | None, other: Amount | None) -> Amount | None:
    """The smaller of two bounds; None means no bound."""
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)


def _sum(one: Amount | None, other: Amount | None) -> Amount | None:
    return None if one is None or other is None else one + other


def _larger(one: Amount | None, other: Amount | None) -> Amount | None:
    return None if one is None or other is None else max(one, other)


@dataclass(slots=True)
class WorstCases:
    """The worst case of one entry, for every body of a forest."""

    plan: Plan
    bounds: Mapping[Body, Bound]
    steps: Sequence[Cost]
    """The cost of one step of each node, without the graph inside it."""
    calls: Sequence[Cost]
    """The cost of one model call of each node."""
    ceiling: Cost
    """The cost that no run exceeds, because `limits.max_steps` bounds its steps."""
    costs: dict[Body, Cost] = field(default_factory=dict)
    largest: dict[Body, Cost] = field(default_factory=dict)
    """The largest single model call in a body."""
    forced: dict[Body, set[int]] = field(default_factory=dict)
    """The edges out of a body that contracts of loops inside it may take."""
    inner: dict[int, Body] = field(default_factory=dict)
    """The graph inside each node that has one."""

    def rounds(self, body: Body) -> int:
        """The most rounds of one entry of the body."""
        return 1 if body.head is None else self.bounds[body].rounds

    def reruns_head(self, body: Body) -> bool:
        """Whether the head may run once more, after the last round."""
        scope = body.scope
        if scope is None or body.head is None or scope.exit_now:
            return False
        forced, apart = self.forced[body], self.bounds[body].apart
        return any(
            index in forced or (index not in apart and self._fires(index)) for index in scope.exits
        )

    def _fires(self, index: int) -> bool:
        edge = self.plan.edges[index]
        return may_fire(edge) and not is_contract_way(edge)

    def reckon(self, body: Body) -> None:
        """Add one body; the bodies inside it were added before."""
        loops = body.inner
        self.forced[body] = self._forced(body, loops)
        calls = [self._call(node) for node in body.plain]
        calls += [self.largest[loop] for loop in loops]
        self.largest[body] = _most(calls)
        if body.scope is None:
            self.costs[body] = self.ceiling
            return
        cost = NOTHING
        for node in body.plain:
            cost += self._node(node)
        for heads in body.loops:
            cost += _most([self.costs[loop] for loop in heads])
        cost = cost.at_most(self.ceiling).times(self.rounds(body))
        if body.head is not None and self.reruns_head(body):
            cost += self._node(body.head)
        budget = self.plan.spec.limits.budget if body.around is None else body.scope.contract.budget
        if body.owner is not None:
            budget = BudgetSpec()
        self.costs[body] = within(cost, budget, self.largest[body]).at_most(self.ceiling)

    def _node(self, node: int) -> Cost:
        inner = self.inner.get(node)
        return self.steps[node] if inner is None else self.steps[node] + self.costs[inner]

    def _call(self, node: int) -> Cost:
        inner = self.inner.get(node)
        return self.calls[node] if inner is None else self.largest[inner]

    def _forced(self, body: Body, loops: Sequence[Body]) -> set[int]:
        inside = set(body.nodes) if loops else set()
        return {
            edge
            for loop in loops
            for edge in (*self.forced[loop], *loop.ways(self.plan))
            if self.plan.edges[edge].target not in inside
        }


def worst_cases_of(
    forest: Forest, bounds: Mapping[Body, Bound], guarantees: Sequence[Guarantee]
) -> WorstCases:
    """The worst cases of a forest."""
    plan = forest.plan
    steps = [
        _step_cost(guarantee, node.spec.retry.max_attempts)
        for node, guarantee in zip(plan.nodes, guarantees, strict=True)
    ]
    cap = _most(steps).times(plan.max_steps)
    for edge in plan.edges:
        if edge.spec.dynamic is not None:  # each part is a step, and nobody knows how many
            steps[edge.target] = replace(steps[edge.target], steps=plan.max_steps)
    calls = [Cost(0, 0, guarantee.calls.tokens, guarantee.calls.usd) for guarantee in guarantees]
    worst_cases = WorstCases(plan, bounds, steps, calls, cap)
    for graph in reversed(forest.graphs):
        for body in reversed(graph):
            worst_cases.reckon(body)
        if graph[0].owner is not None:
            worst_cases.inner[graph[0].owner] = graph[0]
    return worst_cases


def _step_cost(guarantee: Guarantee, attempts: int) -> Cost:
    """The most that one step of a node takes, all its attempts counted."""
    calls = guarantee.calls
    if calls.most == 0:
        return Cost(1)
    if calls.most is None:
        return Cost(1, None, None, None)
    most = calls.most * attempts
    return Cost(
        1,
        most,
        None if calls.tokens is None else calls.tokens * most,
        None if calls.usd is None else calls.usd * most,
    )


def within(cost: Cost, budget: BudgetSpec, call: Cost) -> Cost:
    """The cost under a budget; the budget may be exceeded by one call, if that has a bound."""
    tokens, usd = cost.tokens, cost.usd
    if budget.tokens is not None and call.tokens is not None:
        tokens = smaller(tokens, budget.tokens + call.tokens)
    if budget.usd is not None and call.usd is not None:
        usd = smaller(usd, budget.usd + call.usd)
    return Cost(cost.steps, cost.calls, tokens, usd)


def _most(costs: Sequence[Cost]) -> Cost:
    most = NOTHING
    for cost in costs:
        most = most.or_more(cost)
    return most


def unpriced(plan: Plan) -> list[Problem]:
    """The problems of budgets in USD over models without a price: such a budget ends nothing.

    Each model is named once.
    """
    found: dict[str, Problem] = {}
    for where, nodes in _in_money(plan):
        inside = set(nodes)
        for node in plan.nodes:
            if node.index not in inside and node.owner not in inside:
                continue
            inside.add(node.index)
            for model in guarantee_of(node.spec).calls.unpriced if node.inner is None else ():
                found.setdefault(model, _problem(plan, where, model, node.index))
    return list(found.values())


def _in_money(plan: Plan) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every budget that has a bound in USD, with the nodes it is for."""
    if plan.spec.limits.budget.usd is not None:
        yield "graph.limits.usd", tuple(node.index for node in plan.nodes)
        return
    for loop in forest_of(plan).loops:
        if loop.contract.budget.usd is not None:
            yield f"the budget of loop {loop.contract.head!r}", loop.nodes


def _problem(plan: Plan, where: str, model: str, node: int) -> Problem:
    spec = plan.nodes[node].spec
    return Problem(
        f"{where} bounds {plan.nodes[node].id!r}, and nobody lists a price for its model {model!r}",
        path="prices",
        hint=f"set it, in USD per million tokens: prices: {{{model}: {{input: 1.0, output: 4.0}}}}",
        file=plan.spec.file,
        line=spec.line,
    )
