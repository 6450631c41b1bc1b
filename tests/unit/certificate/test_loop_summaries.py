"""The loops that `rondel check` lists."""

from __future__ import annotations

from rondel import Graph
from rondel.certificate.loop_summaries import label_width, loops_of

INNER = """
graph:
  id: outer
  start: A
  end: B
  loops: {A: {max_rounds: 7}}
  nodes:
    - {id: A, type: passthrough}
    - id: S
      type: subgraph
      config:
        graph:
          id: inner
          start: x
          end: y
          nodes: [{id: x, type: passthrough}, {id: y, type: passthrough}]
          edges: [{from: x, to: y}, {from: y, to: x}]
    - {id: B, type: passthrough}
  edges:
    - {from: A, to: S}
    - {from: S, to: B}
    - {from: B, to: A}
"""


def test_a_loop_in_an_inner_graph_is_inside_the_loop_around_its_node() -> None:
    outer, inner = loops_of(Graph.loads(INNER).plan())
    assert (outer.head, outer.parent, outer.max_rounds, outer.source) == ("A", None, 7, "contract")
    assert (inner.head, inner.parent, inner.max_rounds, inner.source) == (
        "S/x",
        "A",
        100,
        "default",
    )
    assert inner.nodes == ["S/x", "S/y"]
    assert label_width([outer, inner]) == len("A[1]/S/x")


def test_a_loop_with_two_entries_is_listed_once_for_each() -> None:
    graph = Graph("two", start="s")
    for node in "sabe":
        graph.add(node, "passthrough")
    for source, target in ("sa", "sb", "ab", "ba", "be"):
        graph.edge(source, target)
    loops = loops_of(graph.plan())
    assert [(loop.head, loop.nodes) for loop in loops] == [("a", ["a", "b"]), ("b", ["a", "b"])]


def test_no_loops() -> None:
    graph = Graph("one")
    graph.add("a", "passthrough")
    assert loops_of(graph.plan()) == []
    assert label_width([]) == 0
