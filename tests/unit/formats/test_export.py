"""A graph written for ChatDev comes back the same, and what ChatDev will not see is named."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Graph, GraphError
from rondel.formats import translator
from rondel.formats.chatdev_export import to_chatdev
from rondel.graph.positions import parse

IDS = ["a", "b", "c"]
NODES: dict[str, dict[str, Any]] = {
    "passthrough": {"only_last_message": False},
    "literal": {"content": "say", "role": "user"},
    "human": {"description": "Well?", "actions": ["go", "stop"], "timeout": "2h"},
    "loop_counter": {"max_iterations": 3},
    "loop": {"max_rounds": 3, "exit_on_score": 90},
    "vote": {"threshold": 0.5, "agents": {"A": {"role": "You vote."}}},
    "python": {"code": "print(1)"},
    "memory": {"limit": 5},
    "agent": {
        "name": "gpt-4o",
        "provider": "scripted",
        "answers": ["one", {"content": "two", "data": None}],
        "tools": ["search", {"function": "look", "timeout": 3}, {"mcp": {"command": "x"}}],
        "output_schema": {"type": "object", "default": None},
    },
}
CONDITIONS = [
    True,
    False,
    "true",
    {"type": "keyword", "config": {"any": ["ACCEPT"], "none": []}},
    {"type": "keyword", "config": {}},
    {"type": "expr", "config": {"expr": "data.score > 1"}},
    {"type": "function", "config": {"name": "judge"}},
]
SPLITS = [
    {"type": "message"},
    {"type": "regex", "config": {"pattern": r"(\w+)"}},
    {"type": "json_path", "config": {"path": "$.items"}},
]
NODE_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "description": st.just("for people"),
        "context_window": st.sampled_from([-1, 0, 4]),
        "join": st.sampled_from(["any", "all"]),
        "timeout": st.sampled_from([5, "90s"]),
        "on_error": st.just("continue"),
        "retry": st.sampled_from([{"max_attempts": 2}, {"min_wait": "1s", "max_attempts": 9}]),
    },
)
EDGE_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "label": st.sampled_from(["continue", "exit", "goal"]),
        "condition": st.sampled_from(CONDITIONS),
        "trigger": st.booleans(),
        "carry_data": st.booleans(),
        "keep_message": st.booleans(),
        "clear_context": st.booleans(),
        "process": st.just({"type": "regex_extract", "config": {"pattern": "x", "group": 0}}),
        "dynamic": st.sampled_from(SPLITS).map(lambda split: {"type": "map", "split": split}),
    },
)
GRAPH_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "description": st.just("of a graph"),
        "start": st.sampled_from(["a", ["a", "b"]]),
        "end": st.sampled_from(["c", ["c"]]),
        "limits": st.just({"max_steps": 7}),
        "loops": st.just({"a": {"max_rounds": 5, "exit_on_score": 90}}),
        "breaker": st.sampled_from([False, {"timeout": "1h"}]),
        "memory": st.just({"promote": ["a"]}),
        "dialect": st.just("chatdev"),
    },
)


@st.composite
def _nodes(draw: st.DrawFn, depth: int) -> list[dict[str, Any]]:
    nodes = []
    for name in IDS:
        if depth and draw(st.integers(0, 5)) == 0:
            inner = draw(_graphs(depth - 1))
            nodes.append({"id": name, "type": "subgraph", "config": {"graph": inner}})
            continue
        type_ = draw(st.sampled_from(sorted(NODES)))
        config = draw(st.sets(st.sampled_from(sorted(NODES[type_]))))
        config |= {"content"} & NODES[type_].keys()
        settings = {key: NODES[type_][key] for key in sorted(config)}
        nodes.append({"id": name, "type": type_, "config": settings, **draw(NODE_FIELDS)})
    return nodes


@st.composite
def _graphs(draw: st.DrawFn, depth: int = 1) -> dict[str, Any]:
    ends = st.tuples(st.sampled_from(IDS), st.sampled_from(IDS))
    edges = [
        {"from": source, "to": target, **draw(EDGE_FIELDS)}
        for source, target in draw(st.lists(ends, max_size=6))
    ]
    fields = draw(GRAPH_FIELDS)
    if {edge["to"] for edge in edges} == set(IDS):
        fields.setdefault("start", "a")
    return {"id": "g", **fields, "nodes": draw(_nodes(depth)), "edges": edges}


def _plain(graph: dict[str, Any]) -> dict[str, Any]:
    """A graph in one of the several ways in which it can be written."""
    nodes = []
    for node in graph["nodes"]:
        config = node["config"]
        inner = config.get("graph") or (node["type"] == "subgraph" and config["config"])
        nodes.append({**node, "config": _plain(inner)} if inner else node)
    edges = [
        {key: edge[key] for key in edge if key != "condition" or edge[key] not in (True, "true")}
        for edge in graph.get("edges") or []
    ]
    return {**graph, "nodes": nodes, "edges": edges}


def _back(foreign: Any) -> Any:
    text = yaml.safe_dump(foreign, allow_unicode=True, sort_keys=False)
    translation = translator("chatdev")(parse(text), "")
    assert translation.problems == ()
    return translation.data


@settings(deadline=None)
@given(_graphs())
def test_a_graph_comes_back_from_chatdev_as_it_was(graph: dict[str, Any]) -> None:
    assert _plain(_back(to_chatdev({"graph": graph}).document)["graph"]) == _plain(graph)


def _places(graph: dict[str, Any]) -> set[str]:
    return {problem.path for problem in to_chatdev({"graph": graph}).unseen}


@settings(deadline=None)
@given(_graphs(depth=0))
def test_whatever_chatdev_does_not_know_is_named(graph: dict[str, Any]) -> None:
    told = _places(graph)
    for place, node in enumerate(graph["nodes"]):
        path = f"graph.nodes[{place}]"
        if node["type"] in ("loop", "vote", "python", "memory"):
            assert f"{path}.type" in told
        for key in ("join", "timeout", "on_error"):
            assert (key in node) == (f"{path}.{key}" in told)
    for place, edge in enumerate(graph["edges"]):
        path = f"graph.edges[{place}]"
        if "label" in edge:
            assert told & {path, f"{path}.label"}
    for key in ("limits", "breaker", "memory"):
        assert (key in graph) == (f"graph.{key}" in told)
    assert ("graph" in told) == ("dialect" not in graph)


def test_two_edges_between_the_same_nodes_keep_their_order() -> None:
    graph = {
        "id": "g",
        "start": "a",
        "nodes": [{"id": name, "type": "passthrough", "config": {}} for name in IDS],
        "edges": [
            {"from": "a", "to": "b", "label": "first"},
            {"from": "a", "to": "c"},
            {"from": "a", "to": "b", "label": "second"},
            {"from": "b", "to": "c"},
        ],
    }
    exported = to_chatdev({"graph": graph})
    assert len(exported.document["graph"]["edges"]) == 3
    assert _back(exported.document)["graph"]["edges"] == graph["edges"]


EXPORTED = """\
graph:
  id: g
  start: [a]
  nodes:
    - id: a
      type: passthrough
      config: {}
      x-rondel:
        type: loop
        config:
          max_rounds: none
    - {id: b, type: passthrough, config: {}}
  edges:
    - from: a
      to: b
      x-rondel:
        lable: exit
  x-rondel:
    loops:
      z: {max_rounds: 3}
"""


def _lines(text: str) -> list[int | None]:
    with pytest.raises(GraphError) as caught:
        Graph.loads(text, file="bad.yaml", compat="chatdev")
    return [problem.line for problem in caught.value.problems]


def test_what_is_wrong_in_an_extension_has_its_line_there() -> None:
    assert _lines(EXPORTED) == [11, 17, 20]


@pytest.mark.parametrize(
    ("extension", "line"),
    [
        ("x-rondel: 3", 4),
        ("x-rondel: {without: dialect}", 4),
        ("x-rondel: {nodes: []}", 4),
        ("x-rondel: {edges: [{from: a, to: a}]}", 4),
        ("x-rondel:\n    edges: 7", 5),
    ],
)
def test_an_extension_that_is_none_is_refused(extension: str, line: int) -> None:
    text = f"""\
graph:
  id: g
  start: [a]
  {extension}
  nodes: [{{id: a, type: passthrough, config: {{}}}}]
  edges: []
"""
    assert _lines(text) == [line]
