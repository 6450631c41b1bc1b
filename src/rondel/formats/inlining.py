"""A graph document with the graph files it names written into it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any


def inlined(document: dict[str, Any], includes: Mapping[str, Any]) -> dict[str, Any]:
    """The document with every subgraph that is a file in the place where it is named."""
    whole = {**document, "graph": _graph(document["graph"], "", includes)}
    if isinstance(prices := document.get("prices"), str):
        whole["prices"] = includes[posixpath.normpath(prices)]
    return whole


def _graph(graph: dict[str, Any], folder: str, includes: Mapping[str, Any]) -> dict[str, Any]:
    return {**graph, "nodes": [_node(node, folder, includes) for node in graph["nodes"]]}


def _node(node: dict[str, Any], folder: str, includes: Mapping[str, Any]) -> dict[str, Any]:
    if node.get("type") != "subgraph":
        return node
    config = node["config"]
    name = config.get("file")
    if config.get("type") == "file":
        name = config["config"]["path"]
    if name is None:
        inner = config.get("graph") or config["config"]
        return {**node, "config": {"graph": _graph(inner, folder, includes)}}
    key = posixpath.normpath(posixpath.join(folder, name))
    if key not in includes:  # named from the outermost file's folder
        key = posixpath.normpath(name)
    body = includes[key].get("graph", includes[key])
    inside = _graph(body, posixpath.dirname(key), includes)
    return {**node, "config": {"graph": inside}}
