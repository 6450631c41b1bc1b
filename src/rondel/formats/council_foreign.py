"""What Council itself sees of a graph document: nodes with their next ones, and stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rondel.formats.council_nodes import ACTIONS, MODEL, PARAMS
from rondel.formats.extension import DOCUMENT, KEY, STAND_IN
from rondel.graph.quantities import seconds

Settings = dict[str, Any]

START = "start"
ORDER = {"continue": 0, "pass": 0, "exit": 2, "reject": 2}
"""Which of a node's ways comes first there, by its label; without one, as in the file."""


def foreign_workflow(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document that Council can read."""
    graph = document["graph"]
    edges = graph.get("edges") or []
    starts = _starts(graph, edges)
    ends = _ends(graph, edges)
    nodes = {node["id"]: _node(node, edges, starts, ends) for node in graph["nodes"]}
    if len(starts) != 1:
        starts = [_add_start(nodes, starts)]
    apart = {key: document[key] for key in document if key not in ("version", "graph")}
    return {
        "workflow_id": graph["id"],
        "name": graph["id"],
        "description": graph.get("description", ""),
        "start_node_id": starts[0],
        "nodes": nodes,
        KEY: {"edges": list(edges), **({DOCUMENT: apart} if apart else {})},
    }


def _starts(graph: Mapping[str, Any], edges: list[Settings]) -> list[str]:
    given = graph.get("start")
    if given:
        return [given] if isinstance(given, str) else list(dict.fromkeys(given))
    entered = {edge["to"] for edge in edges}
    return [node["id"] for node in graph["nodes"] if node["id"] not in entered]


def _ends(graph: Mapping[str, Any], edges: list[Settings]) -> set[str]:
    """The end nodes after which nothing comes."""
    left = {edge["from"] for edge in edges}
    given = graph.get("end")
    named = [given] if isinstance(given, str) else given or [node["id"] for node in graph["nodes"]]
    return set(named) - left


def _add_start(nodes: Settings, starts: list[str]) -> str:
    """One node that leads to all starts; there a workflow has one."""
    name = START
    while name in nodes:
        name += "_"
    node = {"node_id": name, "type": START, "name": name, "next_ids": starts, "properties": {}}
    nodes[name] = {**node, KEY: {STAND_IN: True}}
    return name


def _node(node: Settings, edges: list[Settings], starts: list[str], ends: set[str]) -> Settings:
    name = node["id"]
    type_, properties = _told(node, starts, ends)
    ways = [edge for edge in edges if edge["from"] == name and edge.get("trigger", True)]
    ways.sort(key=lambda edge: ORDER.get(edge.get("label", ""), 1))
    return {
        "node_id": name,
        "type": type_,
        "name": node.get("description") or name,
        "next_ids": list(dict.fromkeys(edge["to"] for edge in ways)),
        "properties": properties,
        KEY: {},
    }


def _told(node: Settings, starts: list[str], ends: set[str]) -> tuple[str, Settings]:
    """The type that a node has there, and what it is told."""
    config = node.get("config") or {}
    if node["type"] in TYPES:
        foreign, told = TYPES[node["type"]]
        return foreign, told(config, node["id"])
    if node["type"] == "passthrough" and node["id"] in ends:
        return "end", {}
    if node["type"] == "passthrough" and starts == [node["id"]]:
        return START, {}
    return "parallel", {}


def _agent(config: Settings, name: str) -> Settings:
    return {"agent_id": name, **_model(config, name)}


def _model(config: Settings, name: str) -> Settings:
    named = {**config, "model": config.get("name"), **(config.get("params") or {})}
    known = {key: named[key] for key in (*MODEL, *PARAMS) if named.get(key) is not None}
    return {"system_prompt": config.get("role") or f"You are {name}.", **known}


def _vote(config: Settings, _name: str) -> Settings:
    agents = {name: _model(agent or {}, name) for name, agent in config["agents"].items()}
    return {"threshold": 0.5, **_given(config, "threshold", "vote_type"), "agents": agents}


def _loop(config: Settings, _name: str) -> Settings:
    return {"max_rounds": 3, **_given(config, "max_rounds", "exit_on_score", "exit_condition")}


def _fact_check(config: Settings, name: str) -> Settings:
    agent = config.get("agent")
    told = _model(agent, name) if isinstance(agent, dict) else {}
    return {**told, **_given(config, "verify_threshold")}


def _human(config: Settings, _name: str) -> Settings:
    told = _given(config, "description")
    if actions := [action for action in config.get("actions") or () if action in ACTIONS]:
        told["actions"] = actions
    with suppress(ValueError):
        told["timeout_minutes"] = max(1, round(seconds(config.get("timeout")) / 60))
    return told


def _memory(config: Settings, _name: str) -> Settings:
    return {"max_results": config["limit"]} if "limit" in config else {}


def _given(config: Settings, *keys: str) -> Settings:
    return {key: config[key] for key in keys if config.get(key)}


TYPES: dict[str, tuple[str, Callable[[Settings, str], Settings]]] = {
    "agent": ("agent", _agent),
    "vote": ("vote", _vote),
    "loop": ("loop", _loop),
    "fact_check": ("fact_check", _fact_check),
    "human": ("human_review", _human),
    "memory": ("memory_retrieval", _memory),
}
