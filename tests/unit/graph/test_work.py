"""The work of making a plan grows with the graph, and each node takes little of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rondel import Graph
from rondel.graph.positions import parse
from tests.counting import calls_of

Document = dict[str, Any]
AGAIN = {"type": "keyword", "config": {"any": ["again"]}}

MOST_PER_NODE = 175
"""Calls, of Python or C, that one node and the edges of it may take from document to plan."""


def document(size: int, edges: list[dict[str, Any]]) -> Document:
    nodes = [{"id": f"n{number}", "type": "passthrough"} for number in range(size)]
    ends = {"start": ["n0"], "end": [f"n{size - 1}"]}
    return {"version": 1, "graph": {"id": "large", **ends, "nodes": nodes, "edges": edges}}


def steps(size: int, reach: int = 1, **fields: Any) -> list[dict[str, Any]]:
    return [
        {"from": f"n{number}", "to": f"n{number + reach}", **fields}
        for number in range(size - reach)
    ]


def chain(size: int) -> Document:
    return document(size, steps(size))


def loops(size: int) -> Document:
    back = [
        {"from": f"n{number}", "to": f"n{number - 5}", "condition": AGAIN}
        for number in range(9, size, 10)
    ]
    return document(size, steps(size) + back)


def fan(size: int) -> Document:
    out = [{"from": "n0", "to": f"n{number}"} for number in range(1, size - 1)]
    into = [{"from": f"n{number}", "to": f"n{size - 1}"} for number in range(1, size - 1)]
    return document(size, out + into)


def data_beside(size: int) -> Document:
    return document(size, steps(size) + steps(size, 2, trigger=False))


SHAPES = [chain, loops, fan, data_beside]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_document_takes_as_much_work_per_node_whatever_its_size(
    shape: Callable[[int], Document],
) -> None:
    def work(size: int) -> float:
        graph = shape(size)
        return calls_of(lambda: Graph.from_document(graph)) / size

    work(10)
    small, large = work(1_000), work(10_000)
    assert large < 1.1 * small
    assert large < MOST_PER_NODE


def test_a_graph_written_in_python_takes_as_much_work_per_node_whatever_its_size() -> None:
    def write(size: int) -> None:
        graph = Graph("large")
        for number in range(size):
            graph.node(id=f"n{number}")(lambda inp: inp.text)
        for number in range(size - 1):
            graph.edge(f"n{number}", f"n{number + 1}")
        graph.plan()

    def work(size: int) -> float:
        return calls_of(lambda: write(size)) / size

    work(10)
    small, large = work(1_000), work(10_000)
    assert large < 1.1 * small
    assert large < MOST_PER_NODE


def test_a_text_takes_as_much_work_per_line_whatever_its_size() -> None:
    def work(size: int) -> float:
        lines = "".join(f"  - id: n{number}\n    type: passthrough\n" for number in range(size))
        return calls_of(lambda: parse(f"nodes:\n{lines}")) / size

    work(10)
    small, large = work(1_000), work(10_000)
    assert large < 1.1 * small
    assert large < MOST_PER_NODE
