"""The way back to Council: a graph document as its JSON.

What that format has no place for is written beside it under `x-rondel`. What Council itself makes
of the file differs then, and every such difference is told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rondel.errors import GraphError, Problem
from rondel.formats.council import translate
from rondel.formats.council_foreign import TYPES, foreign_workflow
from rondel.formats.export import Exported
from rondel.formats.extension import CONFIG, KEY, WITHOUT, difference
from rondel.graph.positions import parse
from rondel.graph.source import Path, path_text

ONE_STATE = (
    "Council has one state for all: there every agent sees the document and what was said last, "
    "whatever edges carry; a join waits for all of its edges; nothing bounds a round but its loop"
)
HANDED_ON = "there stands a parallel, which hands on what it gets along all its edges"


def to_council(document: Mapping[str, Any]) -> Exported:
    """The Council workflow of a graph whose inner graphs are all written into it.

    Importing it gives the same graph again. Raises GraphError if it would not.
    """
    foreign = foreign_workflow(document)
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
    nodes, work = foreign["nodes"], [foreign["start_node_id"]]
    seen = set(work)
    for name in work:
        new = [each for each in nodes[name]["next_ids"] if each not in seen]
        seen.update(new)
        work += new
    return [
        _told(("graph", "nodes", place), f"nothing leads to {node['id']!r}: Council refuses that")
        for place, node in enumerate(graph["nodes"])
        if node["id"] not in seen
    ]


def _told(path: Path, message: str, hint: str = "") -> Problem:
    return Problem(message, path_text(path), hint)
