"""Functions in graphs written in Python: on edges, and in graphs inside nodes."""

from __future__ import annotations

from typing import Any

import pytest

from rondel import Graph, GraphError, Message, Registry, run
from rondel.sessions.registry import builtin_registry


def known() -> Registry:
    registry = builtin_registry()
    registry.function("upper", lambda message: message.text.upper())
    registry.function("is short", lambda message: len(message.text) < 9)
    registry.function("twice", lambda inp: inp.text * 2)
    return registry


def two(**edge: Any) -> Graph:
    graph = Graph("two", registry=known())
    graph.node(id="a")(lambda _inp: "text")
    graph.node(id="b")(lambda inp: inp.text)
    graph.edge("a", "b", **edge)
    return graph


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "config": {"name": name}}


@pytest.mark.parametrize(
    ("process", "output"),
    [
        (named("upper"), "TEXT"),
        (lambda message: f"<{message.text}>", "<text>"),
        (lambda message: Message(message.text[:2]), "te"),
    ],
)
def test_a_function_makes_what_an_edge_carries_anew(process: Any, output: str) -> None:
    assert run(two(process=process), "task").output == output


def test_functions_of_an_edge_may_be_its_own_and_registered() -> None:
    graph = two(process=lambda message: message.text + "!", condition=named("is short"))
    assert run(graph, "task").output == "text!"


def test_a_name_that_nobody_registered_is_told_before_the_run() -> None:
    with pytest.raises(GraphError, match="there is no function named 'uper'; did you mean 'upper'"):
        two(process=named("uper")).plan()


def test_registered_functions_work_in_a_graph_inside_one_written_in_python() -> None:
    inner = {
        "id": "inner",
        "nodes": [
            {"id": "a", "type": "function", "config": {"name": "twice"}},
            {"id": "b", "type": "passthrough"},
        ],
        "edges": [
            {"from": "a", "to": "b", "condition": named("is short"), "process": named("upper")}
        ],
    }
    graph = two()
    graph.add("S", "subgraph", {"graph": inner})
    graph.edge("b", "S")
    assert run(graph, "task").output == "TEXTTEXT"
