"""Graphs of other systems: each format translates a whole document and keeps its line numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rondel.errors import CallError, GraphError
from rondel.formats import chatdev, council
from rondel.formats.translation import Translation, mappings_in
from rondel.graph.load import read
from rondel.graph.names import Names
from rondel.graph.positions import Parsed, parse

FORMATS: dict[str, Callable[[Parsed, str], Translation]] = {
    "chatdev": chatdev.translate,
    "council": council.translate,
}
TITLES = {"chatdev": "ChatDev", "council": "Council"}
CHATDEV_GRAPH = ("organization", "log_level", "initial_instruction", "is_majority_voting")
CHATDEV_NODE = ("log_output", "input", "output")
CHATDEV_CONFIG = ("tooling", "thinking", "memories", "skills")


def translator(name: str) -> Callable[[Parsed, str], Translation]:
    """The function that translates a format."""
    if name not in FORMATS:
        hint = Names(FORMATS, what="there are").hint(name)
        raise CallError(f"there is no format {name!r}; {hint}")
    return FORMATS[name]


def translate_file(path: str, name: str) -> Translation:
    """The translation of a file; raises GraphError if it cannot be read at all."""
    translate = translator(name)
    return translate(parse(read(Path(path)), path), path)


def recognised(file: str) -> str | None:
    """The name of a file's foreign format, by marks that no graph of Rondel has."""
    try:
        data = parse(read(Path(file)), file).data
    except GraphError:
        return None
    if not isinstance(data, dict):
        return None
    if "start_node_id" in data and isinstance(data.get("nodes"), dict):
        return "council"
    graph = data.get("graph")
    if isinstance(graph, dict) and "dialect" not in graph and _is_chatdev(graph):
        return "chatdev"
    return None


def _is_chatdev(graph: dict[str, Any]) -> bool:
    nodes, edges = mappings_in(graph.get("nodes")), mappings_in(graph.get("edges"))
    configs = [node["config"] for node in nodes if isinstance(node.get("config"), dict)]
    return (
        any(key in graph for key in CHATDEV_GRAPH)
        or isinstance(graph.get("memory"), list)
        or any(key in node for node in nodes for key in CHATDEV_NODE)
        or any(key in config for config in configs for key in CHATDEV_CONFIG)
        or ("loops" not in graph and any(_is_named(edge.get("condition")) for edge in edges))
    )


def _is_named(condition: Any) -> bool:
    """Whether a condition is no more than a function's name."""
    return isinstance(condition, str) and condition.isidentifier()
