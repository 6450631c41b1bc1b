"""What is missing in a ChatDev file is told once, by its line, with where it was looked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import yaml

from rondel import Engine, Graph, GraphError
from rondel.errors import Problem

FILE = """\
graph:
  id: files
  start: [Coder]
  end: [Tester]
  nodes:
    - id: Coder
      type: agent
      config:
        provider: openai
        name: m
        tooling:
          - type: mcp_remote
            config: {server: "http://127.0.0.1:9/mcp"}
          - type: function
            config:
              tools:
                - name: save
                - name: load
    - id: Tester
      type: agent
      config:
        provider: openai
        name: m
        tooling:
          - type: function
            config: {tools: [{name: save}]}
  edges:
    - {from: Coder, to: Tester, condition: passed}
    - {from: Tester, to: Coder, condition: {type: function, config: {name: passed}}}
"""


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(GraphError) as caught:
        Graph.loads(text, file="files.yaml", compat="chatdev")
    return caught.value.problems


def test_a_missing_function_is_one_error_at_the_line_that_names_it_first() -> None:
    found = [(each.line, each.path) for each in problems_of(FILE)]
    tools = "graph.nodes[0].config.tooling[1].config.tools"
    assert found == [
        (17, f"{tools}[0]"),
        (18, f"{tools}[1]"),
        (28, "graph.edges[0].condition"),
    ]


def test_it_says_how_often_and_where_it_was_looked_for() -> None:
    save, load, passed = (each.message for each in problems_of(FILE))
    assert "no function named 'save', and no --functions DIR was given" in save
    assert save.endswith("(the same in another place)")
    assert "'load'" in load
    assert "the same" not in load
    assert "'passed'" in passed


def test_a_model_without_a_name_or_with_a_null_one_is_the_same_error() -> None:
    for config in ({"provider": None, "name": None}, {}):
        graph = {"id": "g", "start": ["A"], "nodes": [{"id": "A", "type": "agent"}]}
        graph["nodes"][0]["config"] = config  # type: ignore[index]
        (problem,) = problems_of(yaml.safe_dump({"graph": graph}))
        assert problem.message == "the key 'name' is missing"


def inner(*nodes: str, edges: list[dict[str, str]]) -> str:
    inside: dict[str, Any] = {
        "id": "inner",
        "nodes": [{"id": name, "type": "passthrough", "config": {}} for name in nodes],
        "edges": edges,
    }
    node = {"id": "Sub", "type": "subgraph", "config": {"type": "config", "config": inside}}
    return yaml.safe_dump({"graph": {"id": "g", "start": ["Sub"], "nodes": [node], "edges": []}})


def test_an_inner_graph_without_a_start_starts_where_no_edge_enters_and_says_so() -> None:
    text = inner("Two", "One", edges=[{"from": "One", "to": "Two"}])
    graph = Graph.loads(text, compat="chatdev")
    assert asyncio.run(Engine(db=None).run(graph, "a text")).output == "a text"
    (warning,) = [each for each in graph.warnings if "no start" in each.message]
    assert "'One'" in warning.message


def test_an_inner_graph_that_cannot_be_entered_is_refused() -> None:
    edges = [{"from": "One", "to": "Two"}, {"from": "Two", "to": "One"}]
    (problem, *_) = problems_of(inner("One", "Two", edges=edges))
    assert problem.message == "the graph has no start"
