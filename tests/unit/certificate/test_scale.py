"""Certificates of large graphs: the work grows with the graph, not with its square."""

from __future__ import annotations

from rondel import Graph
from rondel.certificate import certify, lints_of
from tests.counting import calls_of

LOOP = 5
"""Nodes of one loop: head, two in the middle, a counter, and the one that leads out."""


def chain_of_loops(loops: int) -> Graph:
    graph = Graph("large", start="h0", end=f"o{loops - 1}")
    for number in range(loops):
        head, first, second, guard, out = (f"{kind}{number}" for kind in "habgo")
        for node in (head, first, second, out):
            graph.add(node, "passthrough")
        graph.add(guard, "loop_counter", {"max_iterations": 3})
        for source, target in ((head, first), (first, second), (second, head), (second, guard)):
            graph.edge(source, target)
        graph.edge(guard, head)
        graph.edge(guard, out)
        if number:
            graph.edge(f"o{number - 1}", head)
    return graph


def nest_of_loops(depth: int) -> Graph:
    graph = Graph("deep", start="h0", end="end")
    for level in range(depth):
        graph.add(f"h{level}", "passthrough")
        graph.add(f"t{level}", "loop", {"max_rounds": 2})
    graph.add("end", "passthrough")
    for level in range(depth):
        graph.edge(f"h{level}", f"h{level + 1}" if level + 1 < depth else f"t{level}")
        graph.edge(f"t{level}", f"h{level}", label="continue")
        graph.edge(f"t{level}", f"t{level - 1}" if level else "end", label="exit")
    return graph


def work_of(graph: Graph) -> int:
    plan = graph.plan()
    return calls_of(lambda: lints_of(plan, certify(plan), graph.registry))


def test_the_work_for_ten_thousand_nodes_is_ten_times_that_for_a_thousand() -> None:
    small, large = work_of(chain_of_loops(1000 // LOOP)), work_of(chain_of_loops(10_000 // LOOP))
    assert large < 12 * small
    assert large < 1000 * 10_000


def test_ten_thousand_nodes_are_certified() -> None:
    certificate = certify(chain_of_loops(10_000 // LOOP).plan())
    assert len(certificate.loops) == 2000
    assert {loop.bound.source.partition(" ")[0] for loop in certificate.loops} == {"loop_counter"}
    assert certificate.cost.steps == 10_000  # the limit of the run


def test_deep_nests_end_at_the_limit_of_steps() -> None:
    """2 to the power of 200 rounds, and no number that large."""
    certificate = certify(nest_of_loops(200).plan())
    assert len(certificate.loops) == 200
    assert certificate.loops[3].rounds == 16
    assert max(loop.rounds for loop in certificate.loops) == 10_001
    assert certificate.cost.steps == 10_000


def test_a_loop_with_very_many_entries_is_certified_without_compiling_each() -> None:
    size = 300
    graph = Graph("entries", start="s", end="end")
    for node in ("s", "end", *(f"n{number}" for number in range(size))):
        graph.add(node, "passthrough")
    for number in range(size):
        graph.edge("s", f"n{number}", "data.x == 1")
        for step in (1, 7, 31):
            graph.edge(f"n{number}", f"n{(number + step) % size}")
    graph.edge("n0", "end")
    certificate = certify(graph.plan())
    heads = {loop.head for loop in certificate.loops if loop.parent is None}
    assert heads == {f"n{number}" for number in range(size)}
    assert certificate.cost.steps == 10_000
