"""What ChatDev itself sees of a graph document: its own types and settings, and stand-ins."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rondel.formats.chatdev import CONFIGS, RUN_MESSAGE
from rondel.formats.chatdev_agents import RETRY_KEYS
from rondel.formats.chatdev_edges import EDGE, KEYWORD
from rondel.graph.quantities import seconds

GRAPH = ("id", "description", "start", "end")
NODE = ("id", "type", "description", "context_window")
AGENT = ("name", "role", "base_url", "api_key", "params", "input_mode", "provider")
UNNAMED = "simulated"
"""The provider of an agent that names none, and a name for its model, which must have one there."""

STAND_IN: dict[str, Any] = {"type": "passthrough", "config": {}}


def foreign_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document that ChatDev can read."""
    envelope = {"vars": document["vars"]} if document.get("vars") else {}
    return {**envelope, "graph": _graph(document["graph"])}


def _graph(graph: Mapping[str, Any]) -> dict[str, Any]:
    body = {key: graph[key] for key in GRAPH if graph.get(key) is not None}
    body["start"] = graph.get("start") or _entrances(graph)
    body["nodes"] = [_node(node) for node in graph["nodes"]]
    if graph.get("edges"):
        ends: dict[tuple[str, str], Mapping[str, Any]] = {}
        for edge in graph["edges"]:
            ends.setdefault((edge["from"], edge["to"]), edge)
        body["edges"] = [_edge(edge) for edge in ends.values()]
    return body


def _entrances(graph: Mapping[str, Any]) -> list[str]:
    entered = {edge["to"] for edge in graph.get("edges") or ()}
    return [node["id"] for node in graph["nodes"] if node["id"] not in entered]


# Nodes


def _node(node: Mapping[str, Any]) -> dict[str, Any]:
    config = node.get("config") or {}
    made = {key: node[key] for key in NODE if node.get(key) is not None}
    match node["type"]:
        case "agent":
            return {**made, "config": _agent(config, node.get("retry"))}
        case "subgraph":
            return {**made, "config": _subgraph(config)}
        case "python" if config.get("code") == RUN_MESSAGE:
            return {**made, "config": _lengths(config, {"timeout_seconds": "timeout"})}
        case type_ if type_ in CONFIGS and type_ != "python":
            known = {key: config[key] for key in CONFIGS[type_] if key in config}
            return {**made, "config": known}
    return {**made, **STAND_IN}


def _agent(config: Mapping[str, Any], retry: Any) -> dict[str, Any]:
    made = {"provider": UNNAMED, "name": UNNAMED}
    made |= {key: config[key] for key in AGENT if config.get(key) is not None}
    tooling = [entry for tool in config.get("tools") or () for entry in _tool(tool)]
    return {**made, **({"tooling": tooling} if tooling else {}), "retry": _retry(retry)}


def _retry(retry: Any) -> dict[str, Any]:
    if not isinstance(retry, dict):
        return {"enabled": False}
    attempts = {"max_attempts": retry["max_attempts"]} if "max_attempts" in retry else {}
    return {**attempts, **_lengths(retry, RETRY_KEYS)}


def _lengths(config: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, float]:
    """Lengths of time by their foreign names, in seconds; variables are no lengths yet."""
    made = {}
    for foreign, ours in names.items():
        with suppress(ValueError):
            made[foreign] = seconds(config.get(ours))
    return made


def _tool(tool: Any) -> list[dict[str, Any]]:
    """A tool as ChatDev writes it; functions one by one, which is the same there."""
    entry = {"function": tool} if isinstance(tool, str) else tool
    timeout = {"timeout": entry["timeout"]} if entry.get("timeout") else {}
    if "function" in entry:
        config = {"tools": [{"name": entry["function"]}], **timeout}
        return [{"type": "function", "config": config}]
    server = entry.get("mcp")
    if not isinstance(server, dict):
        return []
    if "url" in server:
        config = {"server": server["url"], **_given(server, ("headers",)), **timeout}
        return [{"type": "mcp_remote", "config": config}]
    return [
        {"type": "mcp_local", "config": {**_given(server, ("command", "args", "env")), **timeout}}
    ]


def _subgraph(config: Mapping[str, Any]) -> dict[str, Any]:
    if "file" in config or config.get("type") == "file":
        file = config.get("file") or config["config"]["path"]
        return {"type": "file", "config": {"path": file}}
    return {"type": "config", "config": _graph(config.get("graph") or config["config"])}


def _given(mapping: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: mapping[key] for key in keys if mapping.get(key)}


# Edges


def _edge(edge: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: edge[key] for key in EDGE if edge.get(key) is not None}
    condition = _condition(made.pop("condition", True))
    if condition is not True:
        made["condition"] = condition
    split = (made.get("dynamic") or {}).get("split") or {}
    if split.get("type") in ("regex", "json_path"):
        made["dynamic"] = {**made["dynamic"], "split": _split(split["type"], split["config"])}
    return made


def _condition(condition: Any) -> Any:
    if condition in (False, "false"):
        return "always_false"
    if not isinstance(condition, dict):
        return True
    config = condition.get("config") or {}
    if condition["type"] == "function":
        return condition
    says = condition["type"] == "keyword" and any(config.get(key) for key in KEYWORD[:3])
    return condition if says else True


def _split(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "json_path":
        return {"type": kind, "config": {"json_path": config["path"]}}
    first = {"group": 1} if "(" in config["pattern"] else {}
    return {"type": kind, "config": {"pattern": config["pattern"], "multiline": True, **first}}
