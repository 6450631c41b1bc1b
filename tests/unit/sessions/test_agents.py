"""Agents are found wherever they are in a graph, and all change their provider together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rondel import Graph
from rondel.cli.graph_files import open_graph
from rondel.sessions.agents import configs_in_document, configs_of, replace_in_document

SCRIPTED = {"provider": "scripted", "answers": ["x"]}
NODES = [
    {"id": "Writer", "type": "agent", "config": SCRIPTED},
    {
        "id": "Debate",
        "type": "debate",
        "config": {
            "agents": {"A": {"role": "a"}, "B": SCRIPTED},
            "agent_pairs": [["A", "B"]],
            "exit_condition": "consensus",
            "consensus": {"mode": "judge", "agent": {**SCRIPTED, "role": "j"}},
        },
    },
    {"id": "Vote", "type": "vote", "config": {"agents": {"C": SCRIPTED, "D": SCRIPTED}}},
    {"id": "Check", "type": "fact_check", "config": {"agent": SCRIPTED}},
]
GRAPH = {
    "id": "all",
    "start": "Writer",
    "nodes": NODES,
    "edges": [
        {"from": "Writer", "to": "Debate"},
        {"from": "Debate", "to": "Vote"},
        {"from": "Vote", "to": "Check"},
    ],
}


def providers(graph: Graph) -> list[str]:
    return [each.provider for node in graph.plan().nodes for each in configs_of(node.spec)]


def test_agents_inside_nodes_are_found() -> None:
    graph = Graph.loads(json.dumps({"graph": GRAPH}))
    assert providers(graph).count("scripted") == 6
    assert len(providers(graph)) == 7
    assert len(list(configs_in_document(GRAPH))) == 7


def test_a_judge_that_is_only_named_is_not_counted_twice() -> None:
    node = {
        **NODES[1],
        "config": {**NODES[1]["config"], "consensus": {"mode": "judge", "agent": "A"}},
    }
    assert len(list(configs_in_document({"nodes": [node]}))) == 2
    assert len(providers(Graph.loads(json.dumps({"graph": {"id": "d", "nodes": [node]}})))) == 2


@pytest.mark.parametrize("inside", [False, True])
def test_another_provider_takes_over_everywhere(inside: bool, tmp_path: Path) -> None:
    graph = GRAPH
    if inside:
        (tmp_path / "inner.json").write_text(json.dumps({"graph": GRAPH}))
        node = {"id": "Sub", "type": "subgraph", "config": {"file": "inner.json"}}
        graph = {"id": "outer", "nodes": [node]}
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({"graph": graph}))
    graph = open_graph(str(file), provider="simulated")
    assert providers(graph) == ["simulated"] * 7


def test_a_provider_that_is_replaced_needs_no_key_also_in_another_file(tmp_path: Path) -> None:
    agent = {"provider": "openai", "name": "gpt-4o", "api_key": "${NOWHERE_SET_KEY}"}
    inner = {"id": "inner", "nodes": [{"id": "A", "type": "agent", "config": agent}]}
    (tmp_path / "inner.json").write_text(json.dumps({"graph": inner}))
    outer = {
        "id": "outer",
        "nodes": [{"id": "S", "type": "subgraph", "config": {"file": "inner.json"}}],
    }
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({"graph": outer}))
    graph = open_graph(str(file), provider="simulated")
    assert providers(graph) == ["simulated"]
    assert "api_key" not in json.dumps(graph.includes)


def test_another_provider_keeps_role_and_tools_but_not_the_options_of_the_old_one() -> None:
    config = {
        "provider": "scripted",
        "answers": ["x"],
        "role": "r",
        "tools": ["search"],
        "fallback": [{"provider": "simulated"}],
    }
    node = {"id": "A", "type": "agent", "config": config}
    replace_in_document({"graph": {"id": "g", "nodes": [node]}}, "simulated:fast")
    assert config == {"provider": "simulated", "name": "fast", "role": "r", "tools": ["search"]}


@pytest.mark.parametrize("body", [None, {}, {"nodes": 1}, {"nodes": [1, {"type": "vote"}]}])
def test_a_broken_document_has_no_agents(body: object) -> None:
    assert list(configs_in_document(body)) == []


@pytest.mark.parametrize("agents", [None, 3, ["A"], {"A": None}])
def test_broken_agents_are_left_to_the_loader(agents: object) -> None:
    node = {"type": "vote", "config": {"agents": agents}}
    assert list(configs_in_document({"nodes": [node]})) == []
