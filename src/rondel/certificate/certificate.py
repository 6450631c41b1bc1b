"""The certificate: the most that every loop and the whole graph can take, proven before the run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rondel.certificate.bounds import Bound, Prover, bound_of
from rondel.certificate.cost import NOTHING, Cost, WorstCases, worst_cases_of
from rondel.certificate.forest import Body, Forest, forest_of
from rondel.certificate.guaranteed import guarantees_of
from rondel.graph.guarantees import Calls, Guarantee
from rondel.graph.plan import Plan

Parents = Counter[str | None]
"""How often something is entered, by the head of the loop around it."""


@dataclass(frozen=True, slots=True)
class LoopCertificate:
    """One loop as entered at one head: its bound per entry, and its worst case over the run."""

    head: str
    nodes: tuple[str, ...]
    parent: str | None
    bound: Bound
    rounds: int
    """Rounds of all its entries together."""
    cost: Cost
    """Cost of all its entries together."""
    each_continue: Cost | None = None
    """The cost that each "continue" of a person adds, if one is asked at the limit."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What no run of a graph exceeds, as long as nobody lets a loop go on at its limit."""

    loops: tuple[LoopCertificate, ...]
    cost: Cost
    executions: tuple[int, ...]
    """How often each node of the plan can run."""
    guarantees: tuple[Guarantee, ...] = ()
    """The guarantee of each node of the plan, from which all figures are computed."""
    unbounded: tuple[str, ...] = ()
    """A sentence for each reason why a figure of the whole run has no bound."""


def certify(plan: Plan) -> Certificate:
    """The certificate of a compiled graph."""
    forest = forest_of(plan)
    guarantees = guarantees_of(plan)
    prover = Prover(plan, guarantees)
    bounds = {loop: bound_of(loop, prover) for loop in forest.loops}
    totals = _Totals(forest, worst_cases_of(forest, bounds, guarantees))
    whole = totals.certificate()
    why = unbounded(plan, whole.cost, whole.executions, guarantees)
    return replace(whole, guarantees=tuple(guarantees), unbounded=why)


class _Totals:
    """Adds up the whole run, from the outermost graph inwards."""

    def __init__(self, forest: Forest, worst_cases: WorstCases) -> None:
        self._plan = forest.plan
        self._forest = forest
        self._worst_cases = worst_cases
        self._executions = [0] * len(self._plan.nodes)
        self._parents: dict[int | None, Parents] = defaultdict(Counter)
        """How often the graph inside a node is entered, and inside which loop."""
        self._found: dict[tuple[str, str | None, tuple[int, ...]], LoopCertificate] = {}

    def certificate(self) -> Certificate:
        """The whole certificate."""
        self._parents[None][None] = 1
        for graph in self._forest.graphs:
            self._walk(graph, self._parents[graph[0].owner])
        root = self._forest.graphs[0][0]
        return Certificate(
            tuple(self._found.values()),
            self._worst_cases.costs[root],
            tuple(self._executions),
        )

    def _walk(self, graph: list[Body], parents: Parents) -> None:
        counts: dict[Body, int] = {graph[0]: self._capped(sum(parents.values()))}
        totals: dict[Body, Cost] = {graph[0]: self._run_cost(graph[0], counts[graph[0]])}
        for body in graph:
            rounds = self._capped(counts[body] * self._worst_cases.rounds(body))
            for name, entries in self._shares(body, parents, counts[body]):
                self._note(body, name, entries, totals[body])
            for loop in body.inner:
                counts[loop] = rounds
                totals[loop] = self._run_cost(loop, rounds).at_most(totals[body])
            self._run(body, counts[body], rounds, parents)

    def _run(self, body: Body, entries: int, rounds: int, parents: Parents) -> None:
        """Count the executions of the nodes directly in a body."""
        for node in body.nodes if body.scope is None else body.plain:
            again = entries if node == body.head and self._worst_cases.reruns_head(body) else 0
            count = self._plan.max_steps if body.scope is None else rounds + again
            self._executions[node] = min(self._executions[node] + count, self._plan.max_steps)
            if self._plan.nodes[node].inner is None:
                continue
            if body.head is not None:
                self._parents[node][self._plan.nodes[body.head].id] += count
            else:
                self._parents[node].update(parents)

    def _shares(self, body: Body, parents: Parents, count: int) -> Iterator[tuple[str | None, int]]:
        """The loops around a loop, with how often it is entered in each."""
        if body.head is None or body.around is None:
            return
        if body.around.head is not None:
            yield self._plan.nodes[body.around.head].id, count
        else:
            yield from parents.items()

    def _note(self, body: Body, parent: str | None, entries: int, total: Cost) -> None:
        assert body.head is not None  # noqa: S101
        bound = self._worst_cases.bounds[body]
        head = self._plan.nodes[body.head].id
        rounds = self._capped(entries * bound.rounds)
        cost = self._run_cost(body, entries).at_most(total)
        key = (head, parent, body.nodes)
        before = self._found.get(key)
        if before is None:
            names = tuple(self._plan.nodes[node].id for node in body.nodes)
            more = self._worst_cases.costs[body] if bound.asks else None
            self._found[key] = LoopCertificate(head, names, parent, bound, rounds, cost, more)
            return
        looser = max(before.bound, bound, key=lambda each: each.rounds)
        self._found[key] = replace(
            before,
            bound=looser,
            rounds=self._capped(before.rounds + rounds),
            cost=(before.cost + cost).at_most(self._worst_cases.ceiling),
        )

    def _run_cost(self, body: Body, entries: int) -> Cost:
        if not entries:
            return NOTHING
        total = self._worst_cases.costs[body].times(entries)
        return total.at_most(self._worst_cases.ceiling)

    def _capped(self, rounds: int) -> int:
        """No more rounds than steps: every round but the last one of the run has a step."""
        return min(rounds, self._plan.max_steps + 1)


CALLS, TOKENS, MONEY = "model calls", "tokens", "cost"


def unbounded(
    plan: Plan, cost: Cost, executions: Sequence[int], guarantees: Sequence[Guarantee]
) -> tuple[str, ...]:
    """A sentence for each reason why a figure has no bound; none if all have one."""
    figures = ((CALLS, cost.calls), (TOKENS, cost.tokens), (MONEY, cost.usd))
    missing = [name for name, figure in figures if figure is None]
    found: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for node, times, guarantee in zip(plan.nodes, executions, guarantees, strict=True):
        for touched, reason in _reasons(guarantee.calls) if times else ():
            names = tuple(name for name in missing if name in touched)
            if names:
                found.setdefault((names, reason), []).append(node.id)
    return tuple(_told(names, nodes, reason) for (names, reason), nodes in found.items())


def _reasons(calls: Calls) -> Iterator[tuple[Sequence[str], str]]:
    """Why figures of a node have no bound."""
    if calls.most == 0:
        return
    if calls.most is None:
        yield (CALLS, TOKENS, MONEY), calls.why or "it asks for each part of a message"
    elif calls.tokens is None:
        yield (TOKENS, MONEY), calls.why or "nobody knows how much a call takes"
    for model in calls.unpriced:
        yield (MONEY,), f"nobody lists a price for {model!r}; set it under 'prices:'"


def _told(names: Sequence[str], nodes: Sequence[str], reason: str) -> str:
    verb = "is" if names == (MONEY,) else "are"
    return f"{' and '.join(names)} {verb} unbounded: {', '.join(nodes)}: {reason}"
