"""The way back to Council: a graph document as its JSON.

What that format has no place for is written beside it under `x-rondel`. What Council itself makes
of the file differs then, and every such difference is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rondel.errors import GraphError, Problem
from rondel.formats.council import translate
from rondel.formats.council_nodes import ACTIONS, MODEL, PARAMS
from rondel.formats.extension import CONFIG, DOCUMENT, KEY, STAND_IN, WITHOUT, difference
from rondel.formats.translation import Exported
from rondel.graph.components import reached
from rondel.graph.positions import parse
from rondel.graph.quantities import seconds
from rondel.graph.source import Path, path_text

ONE_STATE = (
    "Council has one state for all: there every agent sees the document and what was said last, "
    "whatever edges carry; a join waits for all of its edges; nothing bounds a round but its loop"
)
HANDED_ON = "there stands a parallel, which hands on what it gets along all its edges"
Settings = dict[str, Any]
START = "start"
ORDER = {"continue": 0, "pass": 0, "exit": 2, "reject": 2}
"""Which of a node's ways comes first there, by its label; without one, as in the file."""


# The file, and what Council does not see of it


def to_council(document: Mapping[str, Any]) -> Exported:
    """The Council workflow of a graph whose inner graphs are all written into it.

    Importing it gives the same graph again. Raises GraphError if it would not.
    """
    foreign = _foreign_workflow(document)
    back = translate(parse(json.dumps(foreign)), "")
    if back.problems:
        raise GraphError(back.problems)
    graph, made = document["graph"], back.data["graph"]
    unseen = [_told(("graph",), ONE_STATE)]
    fields = difference(_alone(graph), _alone(made))
    for node, again in zip(graph["nodes"], made["nodes"], strict=True):
        extension = difference(node, again)
        foreign["nodes"][node["id"]][KEY] = extension
        unseen += _node_unseen(graph, node, extension)
    foreign[KEY] |= fields
    unseen += _graph_unseen(graph, fields)
    unseen += _unreachable(foreign, graph)
    return Exported(foreign, tuple(unseen))


def _alone(graph: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in graph.items() if key not in ("nodes", "edges")}


def _node_unseen(
    graph: Mapping[str, Any], node: Mapping[str, Any], extension: dict[str, Any]
) -> list[Problem]:
    place: Path = ("graph", "nodes", graph["nodes"].index(node))
    if node["type"] not in (*TYPES, "passthrough"):
        message = f"Council has no node type {node['type']!r}; {HANDED_ON}"
        return [_told((*place, "type"), message)]
    told = []
    if node["type"] == "agent":
        message = "Council takes agents from its database; it knows this one once it has that id"
        told.append(_told((*place, CONFIG), message, "make it there and set agent_id"))
    for key in extension.get(CONFIG, ()):
        told.append(_told((*place, CONFIG, key), f"Council has nothing like {key!r}"))
    for key in extension:
        if key not in (WITHOUT, CONFIG, "type", "description"):
            told.append(_told((*place, key), f"Council has nothing like {key!r}"))
    return told


def _graph_unseen(graph: Mapping[str, Any], fields: dict[str, Any]) -> list[Problem]:
    told = []
    for key in fields:
        if key not in (WITHOUT, "start", "end", "description"):
            told.append(_told(("graph", key), f"Council has nothing like {key!r}"))
    for place, edge in enumerate(graph.get("edges") or ()):
        path: Path = ("graph", "edges", place)
        if edge.get("condition") not in (None, True, "true"):
            told.append(_told((*path, "condition"), "Council has no conditions; it always fires"))
        for key in ("process", "dynamic"):
            if edge.get(key) is not None:
                told.append(_told((*path, key), f"Council has nothing like {key!r}"))
    return told


def _unreachable(foreign: Mapping[str, Any], graph: Mapping[str, Any]) -> list[Problem]:
    """Nodes to which nothing leads there, for which Council refuses the workflow."""
    nodes: dict[str, Any] = foreign["nodes"]
    seen = reached([str(foreign["start_node_id"])], lambda name: nodes[name]["next_ids"])
    return [
        _told(("graph", "nodes", place), f"nothing leads to {node['id']!r}: Council refuses that")
        for place, node in enumerate(graph["nodes"])
        if node["id"] not in seen
    ]


def _told(path: Path, message: str, hint: str = "") -> Problem:
    return Problem(message, path_text(path), hint)


# What Council itself sees of a graph: nodes with their next ones, and stand-ins


def _foreign_workflow(document: Mapping[str, Any]) -> dict[str, Any]:
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
    type_, properties = _type_of(node, starts, ends)
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


def _type_of(node: Settings, starts: list[str], ends: set[str]) -> tuple[str, Settings]:
    """The type that a node has there, and what it is told."""
    config = node.get("config") or {}
    if node["type"] in TYPES:
        foreign, properties_of = TYPES[node["type"]]
        return foreign, properties_of(config, node["id"])
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
