"""Large graphs run to their end: no recursion, and no work that grows faster than they do."""

from __future__ import annotations

import pytest

from rondel import Context, Engine, Graph, Outcome, Result
from tests.counting import calls_of
from tests.unit.sessions.playing import Says, chain, limited


class Counts:
    """How often a processor ran, over all its nodes."""

    def __init__(self) -> None:
        self.times = 0
        self._says = Says("x")

    async def process(self, ctx: Context) -> Outcome:
        self.times += 1
        return await self._says.process(ctx)


async def running(graph: Graph) -> Result:
    async with Engine(db=None) as engine:
        return await engine.run(graph)


def run(graph: Graph) -> Result:
    return limited(running(graph), 100)


def long_chain(size: int, counts: Counts) -> Graph:
    names = [str(number) for number in range(size)]
    graph = Graph("chain")
    for name in names:
        graph.add(name, counts)
    graph.limits(max_steps=size)
    return chain(graph, *names)


def deep_nest(depth: int, counts: Counts) -> Graph:
    """h0 -> … -> t0: every t leads back to its h once, by a condition on the round."""
    graph = Graph("nest", start="h0", end="end")
    for number in range(depth):
        graph.add(f"h{number}", counts)
    for number in range(depth):
        graph.add(f"t{number}", counts)
    graph.add("end", counts)
    chain(graph, *(f"h{number}" for number in range(depth)), f"t{depth - 1}")
    for number in range(depth):
        rounds = 2 if number in (0, depth // 2, depth - 1) else 1
        after = f"t{number - 1}" if number else "end"
        graph.edge(f"t{number}", f"h{number}", when=f"round < {rounds}")
        graph.edge(f"t{number}", after, when=f"round >= {rounds}")
    graph.limits(max_steps=100_000)
    return graph


def test_a_chain_of_20_000_nodes_runs_to_its_end() -> None:
    counts = Counts()
    assert run(long_chain(20_000, counts)).status == "completed"
    assert counts.times == 20_000


@pytest.mark.parametrize("depth", [1, 5, 50, 200])
def test_loops_nested_deep_run_to_their_end(depth: int) -> None:
    counts = Counts()
    result = run(deep_nest(depth, counts))
    assert result.status == "completed"
    assert len(result.loops) == depth
    assert {loop.exit_reason for loop in result.loops} == {"exit_edge"}
    entries = {loop.loop: loop.entries for loop in result.loops}
    assert entries["h0"] == 1
    if depth >= 50:
        assert entries["h1"] == 2
        assert entries[f"h{depth // 2 + 1}"] == 4
        assert result.loops[-1].entries == 4


def test_five_thousand_branches_meet_in_one_join() -> None:
    counts = Counts()
    graph = Graph("wide", end="e")
    names = [str(number) for number in range(5_000)]
    for name in ("s", *names):
        graph.add(name, counts)
    graph.node(id="e", join="all")(lambda inp: str(len(inp.messages)))
    for name in names:
        chain(graph, "s", name, "e")
    assert run(graph).output == "5000"


def test_a_loop_of_ten_thousand_rounds_costs_the_same_per_round() -> None:
    def work(rounds: int) -> int:
        graph = Graph("long", start="a", end="end")
        for name in ("a", "b", "end"):
            graph.add(name, Counts())
        chain(graph, "a", "b", "a")
        graph.edge("b", "end", label="limit")
        graph.loop("a", max_rounds=rounds)
        graph.limits(max_steps=10**6)
        results = []
        count = calls_of(lambda: results.append(run(graph)))
        assert results[0].status == "completed"
        return count

    assert work(10_000) < 4.2 * work(2_500)
