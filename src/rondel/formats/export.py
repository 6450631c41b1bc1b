"""The way back: a graph document as ChatDev's YAML, where that format can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rondel.errors import GraphError, Problem
from rondel.formats.chatdev import CONFIGS, DIALECT, RUN_MESSAGE
from rondel.formats.chatdev_agents import RETRY_KEYS
from rondel.formats.chatdev_edges import EDGE
from rondel.graph.components import strong_components
from rondel.graph.paths import Path, path_text

GRAPH = frozenset({"id", "description", "start", "end", "nodes", "edges", "dialect"})
NODE = frozenset({"id", "type", "description", "context_window", "config", "retry"})
SIMULATED = "simulated"
"""The provider of an agent that names none."""

AGENT = frozenset({"name", "role", "base_url", "api_key", "params", "input_mode", "provider"})


def to_chatdev(document: Mapping[str, Any]) -> dict[str, Any]:
    """The ChatDev document that behaves the same; raises GraphError with all it cannot hold."""
    export = _Export()
    graph = export.graph(document["graph"], ("graph",))
    if export.problems:
        raise GraphError(export.problems)
    envelope = {"vars": document["vars"]} if document.get("vars") else {}
    return {**envelope, "graph": graph}


class _Export:
    """One export: what the other format has no place for."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def graph(self, graph: Mapping[str, Any], path: Path) -> dict[str, Any]:
        self._only(graph, GRAPH, path)
        if graph.get("dialect") != DIALECT and _has_loop(graph):
            hint = f"with dialect: {DIALECT} it can be exported, and ends its loops at once"
            self._refuse(path, "its loops end with their round, ChatDev's at once", hint)
        body = {key: graph[key] for key in graph if key in GRAPH and key != "dialect"}
        body["start"] = graph.get("start") or _entrances(graph)
        nodes = [(*path, "nodes", place) for place in range(len(graph["nodes"]))]
        body["nodes"] = [
            self._node(node, place) for node, place in zip(graph["nodes"], nodes, strict=True)
        ]
        if graph.get("edges"):
            body["edges"] = self._edges(graph["edges"], (*path, "edges"))
        return body

    def _node(self, node: Mapping[str, Any], path: Path) -> dict[str, Any]:
        self._only(node, NODE, path)
        type_, config = node["type"], dict(node.get("config") or {})
        place = (*path, "config")
        made = {key: node[key] for key in node if key not in ("config", "retry")}
        if type_ == "agent":
            return {**made, "config": self._agent(config, node.get("retry"), place)}
        if type_ not in CONFIGS:
            self._refuse((*path, "type"), f"ChatDev has no node type {type_!r}")
        elif type_ == "python":
            config = self._python(config, place)
        elif type_ == "subgraph":
            config = self._subgraph(config, place)
        else:
            self._only(config, frozenset(CONFIGS[type_]), place)
        return {**made, "config": config}

    def _agent(self, config: dict[str, Any], retry: Any, path: Path) -> dict[str, Any]:
        self._only(config, AGENT, path)
        made = {"provider": SIMULATED, **config}
        if not retry:
            return {**made, "retry": {"enabled": False}}
        keys = {native: foreign for foreign, native in RETRY_KEYS.items()}
        return {**made, "retry": {keys.get(key, key): value for key, value in retry.items()}}

    def _python(self, config: dict[str, Any], path: Path) -> dict[str, Any]:
        if config.get("code") != RUN_MESSAGE:
            message = "a python node of ChatDev runs the message it gets, not code of its own"
            self._refuse((*path, "code"), message)
        return {"timeout_seconds": config.get("timeout", 30)}

    def _subgraph(self, config: dict[str, Any], path: Path) -> dict[str, Any]:
        if "file" in config or config.get("type") == "file":
            file = config.get("file") or config["config"]["path"]
            return {"type": "file", "config": {"path": file}}
        key = "graph" if "graph" in config else "config"
        return {"type": "config", "config": self.graph(config[key], (*path, key))}

    def _edges(self, edges: list[Mapping[str, Any]], path: Path) -> list[dict[str, Any]]:
        seen: set[tuple[str, str]] = set()
        made = []
        for number, edge in enumerate(edges):
            place = (*path, number)
            self._only(edge, frozenset(EDGE), place)
            ends = (edge["from"], edge["to"])
            if ends in seen:
                message = f"ChatDev has one edge from {ends[0]!r} to {ends[1]!r} at most"
                self._refuse(place, message, "join the conditions of the two")
            seen.add(ends)
            made.append({**edge, **self._calls(edge, place)})
        return made

    def _calls(self, edge: Mapping[str, Any], path: Path) -> dict[str, Any]:
        """The condition and the dynamic of an edge as they are written there."""
        made: dict[str, Any] = {}
        condition = edge.get("condition", True)
        kind = condition.get("type") if isinstance(condition, dict) else "constant"
        if condition in (False, "false"):
            made["condition"] = "always_false"
        elif kind not in ("constant", "keyword", "function"):
            self._refuse((*path, "condition"), f"ChatDev has no condition {kind!r}")
        split = (edge.get("dynamic") or {}).get("split") or {}
        if split.get("type") == "regex":
            message = "a regex split is read differently by ChatDev"
            self._refuse((*path, "dynamic", "split"), message)
        elif split.get("type") == "json_path":
            config = {"json_path": split["config"]["path"]}
            dynamic = {**edge["dynamic"], "split": {"type": "json_path", "config": config}}
            made["dynamic"] = dynamic
        return made

    def _only(self, mapping: Mapping[str, Any], known: frozenset[str], path: Path) -> None:
        for key in mapping.keys() - known:
            self._refuse((*path, key), f"ChatDev has nothing like {key!r}")

    def _refuse(self, path: Path, message: str, hint: str = "") -> None:
        self.problems.append(Problem(message, path_text(path), hint))


def _has_loop(graph: Mapping[str, Any]) -> bool:
    places = {node["id"]: place for place, node in enumerate(graph["nodes"])}
    after: list[list[int]] = [[] for _ in places]
    for edge in graph.get("edges") or ():
        if edge["from"] in places and edge["to"] in places:
            after[places[edge["from"]]].append(places[edge["to"]])
    components = strong_components(len(after), after)
    return any(len(part) > 1 or part[0] in after[part[0]] for part in components)


def _entrances(graph: Mapping[str, Any]) -> list[str]:
    entered = {edge["to"] for edge in graph.get("edges") or ()}
    return [node["id"] for node in graph["nodes"] if node["id"] not in entered]
