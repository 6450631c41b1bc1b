"""A graph document as ChatDev's YAML.

What that format has no place for is written beside it under `x-rondel`. What ChatDev itself makes
of the file differs then, and every such difference is told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rondel.errors import GraphError, Problem
from rondel.formats.chatdev import DIALECT, translate
from rondel.formats.chatdev_foreign import foreign_document
from rondel.formats.extension import CONFIG, EDGES, KEY, PLACE, WITHOUT, difference
from rondel.graph.positions import parse
from rondel.graph.source import Path, path_text

APART = ("nodes", "edges")
MODEL = ("provider", "name")
OWN_PROVIDERS = ("simulated", "scripted")
OWN_RULES = (
    "its rules are ChatDev's there: a run without output is completed, 100 rounds end a loop, and "
    "edges that carry data alone form loops too"
)


@dataclass(frozen=True, slots=True)
class Exported:
    """A ChatDev document, and warnings of what ChatDev ignores; their places are the graph's."""

    document: dict[str, Any]
    unseen: tuple[Problem, ...]


def to_chatdev(document: Mapping[str, Any]) -> Exported:
    """The ChatDev document of a graph whose inner graphs are all written into it.

    Importing it gives the same graph again. Raises GraphError if ChatDev could not even read it.
    """
    foreign = foreign_document(document)
    back = translate(parse(json.dumps(foreign)), "")
    if back.problems:
        raise GraphError(back.problems)
    report = _Report()
    report.graph(foreign["graph"], document["graph"], back.data["graph"], ("graph",))
    return Exported(foreign, tuple(report.unseen))


class _Report:
    """Adds the extensions that a round trip would lose without, and reports them."""

    def __init__(self) -> None:
        self.unseen: list[Problem] = []

    def graph(
        self,
        foreign: dict[str, Any],
        native: Mapping[str, Any],
        back: Mapping[str, Any],
        path: Path,
    ) -> None:
        """Extend a foreign graph and all that is in it."""
        extension = difference(_but(native, APART), _but(back, APART))
        for place, node in enumerate(native["nodes"]):
            ours = (*path, "nodes", place)
            self._node(foreign["nodes"][place], node, back["nodes"][place], ours)
        doubles = self._edges(foreign, native.get("edges") or [], back, (*path, "edges"))
        if doubles:
            extension[EDGES] = doubles
        if extension:
            foreign[KEY] = extension
        self._tell_graph(extension, native, path)

    def _tell_graph(self, extension: dict[str, Any], native: Mapping[str, Any], path: Path) -> None:
        if native.get("dialect") != DIALECT:
            self._tell(path, OWN_RULES)
        for head in native.get("loops") or ():
            message = f"ChatDev knows no contract of the loop {head!r}"
            self._tell((*path, "loops", head), message, "there only its edges end it")
        for key in extension:
            if key not in (WITHOUT, EDGES, "loops", "start"):
                self._tell((*path, key), f"ChatDev has nothing like {key!r}")

    # Nodes

    def _node(
        self,
        foreign: dict[str, Any],
        native: Mapping[str, Any],
        back: Mapping[str, Any],
        path: Path,
    ) -> None:
        inner = _inner(native)
        if inner is not None:
            place = (*path, CONFIG, *inner)
            graph = native[CONFIG][inner[0]]
            self.graph(foreign[CONFIG][CONFIG], graph, back[CONFIG][CONFIG], place)
            native, back = _but(native, (CONFIG,)), _but(back, (CONFIG,))
        extension = difference(native, back)
        if extension:
            foreign[KEY] = extension
        self._tell_node(extension, native, path)

    def _tell_node(self, extension: dict[str, Any], native: Mapping[str, Any], path: Path) -> None:
        if "type" in extension:
            message = f"ChatDev has no node type {native['type']!r}; there a passthrough stands"
            self._tell((*path, "type"), message, "it hands on what it gets, along all its edges")
        elif native["type"] == "agent":
            self._tell_model(native, path)
        told = () if "type" in extension else extension.get(CONFIG, ())
        for key in told:
            if key not in MODEL:
                self._tell((*path, CONFIG, key), f"ChatDev has nothing like {key!r}")
        for key in extension:
            if key not in (WITHOUT, CONFIG, "type"):
                self._tell((*path, key), f"ChatDev has nothing like {key!r}")

    def _tell_model(self, native: Mapping[str, Any], path: Path) -> None:
        config = native.get(CONFIG) or {}
        provider = config.get("provider", OWN_PROVIDERS[0])
        if provider in OWN_PROVIDERS:
            message = f"ChatDev has no provider {provider!r}; the agent cannot answer there"
            self._tell((*path, CONFIG), message, "set another provider and a model's name there")
        elif not config.get("name"):
            self._tell((*path, CONFIG), "the agent names no model", "set its name there")

    # Edges

    def _edges(
        self,
        foreign: dict[str, Any],
        native: Sequence[Mapping[str, Any]],
        back: Mapping[str, Any],
        path: Path,
    ) -> list[dict[str, Any]]:
        """Extend the edges; those that share their ends with an earlier one come back."""
        doubles = []
        seen: set[tuple[str, str]] = set()
        for place, edge in enumerate(native):
            ends = (edge["from"], edge["to"])
            if ends in seen:
                doubles.append({PLACE: place, **edge})
                message = f"ChatDev has one edge from {ends[0]!r} to {ends[1]!r} and not this one"
                self._tell((*path, place), message)
                continue
            index = len(seen)
            seen.add(ends)
            extension = difference(_plain(edge), back["edges"][index])
            if extension:
                foreign["edges"][index][KEY] = extension
            self._tell_edge(extension, edge, (*path, place))
        return doubles

    def _tell_edge(self, extension: dict[str, Any], edge: Mapping[str, Any], path: Path) -> None:
        for key in extension:
            match key:
                case "condition":
                    kind = (
                        (edge[key] or {}).get("type") if isinstance(edge[key], dict) else edge[key]
                    )
                    message = f"ChatDev has no condition {kind!r}; there the edge always fires"
                    if kind == "function":
                        message = "there the function gets the message's text, and must exist"
                case "label":
                    message = "ChatDev has no labels; nobody chooses among edges there"
                case "dynamic" | "process":
                    message = f"ChatDev may read this {key!r} differently"
                case _:
                    message = f"ChatDev has nothing like {key!r}"
            self._tell((*path, key), message)
        for key in ("condition", "process"):
            call = edge.get(key)
            if key not in extension and isinstance(call, dict) and call["type"] == "function":
                message = "a function of that name must exist in ChatDev"
                self._tell((*path, key), message)

    def _tell(self, path: Path, message: str, hint: str = "") -> None:
        self.unseen.append(Problem(message, path_text(path), hint))


def _plain(edge: Mapping[str, Any]) -> Mapping[str, Any]:
    """An edge without a condition that always holds."""
    always = (True, None, "true", {"type": "true"})
    return _but(edge, ("condition",)) if edge.get("condition") in always else edge


def _but(mapping: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in names}


def _inner(node: Mapping[str, Any]) -> Path | None:
    """Where in its config a node has an inner graph, if it has one and not only its file."""
    if node["type"] != "subgraph":
        return None
    config = node[CONFIG]
    if "graph" in config:
        return ("graph",)
    return ("config",) if config.get("type") == "config" else None
