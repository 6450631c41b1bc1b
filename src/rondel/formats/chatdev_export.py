"""A graph document as ChatDev's YAML.

What that format has no place for is written beside it under `x-rondel`. What ChatDev itself makes
of the file differs then, and every such difference is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import ceil
from typing import Any

from rondel.errors import GraphError, Problem
from rondel.formats.chatdev import CONFIGS, DIALECT, translate
from rondel.formats.chatdev_agents import RETRY_KEYS, TOOL_ROUNDS
from rondel.formats.chatdev_edges import EDGE, KEYWORD, REGEX_FLAGS
from rondel.formats.extension import CONFIG, EDGES, KEY, PLACE, WITHOUT, difference
from rondel.formats.translation import Exported
from rondel.graph.positions import parse
from rondel.graph.quantities import seconds
from rondel.graph.source import Path, path_text

APART = ("nodes", "edges")
MODEL = ("provider", "name")
OWN_PROVIDERS = ("simulated", "scripted")
OWN_RULES = (
    "its rules are ChatDev's there: a run without output is completed, 100 rounds end a loop, and "
    "edges that carry data alone form loops too"
)
GRAPH = ("id", "description", "start", "end")
NODE = ("id", "type", "description", "context_window")
AGENT = ("name", "role", "base_url", "api_key", "params", "input_mode", "provider")
UNNAMED = "simulated"
"""The provider and model of an agent that names none; ChatDev demands both."""

SCOPED = re.compile(r"\(\?([aimsux]*)(?:-m)?:(.*)\)", re.DOTALL)
STAND_IN: dict[str, Any] = {"type": "passthrough", "config": {}}


def to_chatdev(document: Mapping[str, Any]) -> Exported:
    """The ChatDev document of a graph whose inner graphs are all written into it.

    Importing it gives the same graph again. Raises GraphError if ChatDev could not even read it.
    """
    foreign = _foreign_document(document)
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


# A graph as ChatDev reads it: its own types and settings, and stand-ins for others


def _foreign_document(document: Mapping[str, Any]) -> dict[str, Any]:
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
        case "python" if config.get("runs") == "message":
            return {**made, "config": _script(config)}
        case type_ if type_ in CONFIGS and type_ != "python":
            known = {key: config[key] for key in CONFIGS[type_] if key in config}
            return {**made, "config": known}
    return {**made, **STAND_IN}


def _agent(config: Mapping[str, Any], retry: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"provider": UNNAMED, "name": UNNAMED}
    made |= {key: config[key] for key in AGENT if config.get(key) is not None}
    tooling = [entry for tool in config.get("tools") or () for entry in _tool(tool)]
    rounds = config.get("max_tool_rounds", TOOL_ROUNDS)
    if rounds is not None and rounds != TOOL_ROUNDS:
        made["params"] = {**(made.get("params") or {}), "tool_loop_limit": rounds}
    return {**made, **({"tooling": tooling} if tooling else {}), "retry": _retry(retry)}


def _retry(retry: Any) -> dict[str, Any]:
    if not isinstance(retry, dict):
        return {"enabled": False}
    attempts = {"max_attempts": retry["max_attempts"]} if "max_attempts" in retry else {}
    return {**attempts, **_lengths(retry, RETRY_KEYS)}


def _script(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a python node; its time limit becomes whole seconds."""
    lengths = _lengths(config, {"timeout_seconds": "timeout"})
    whole = {key: max(1, ceil(value)) for key, value in lengths.items()}
    return {**_given(config, ("args", "env")), **whole}


def _lengths(config: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, float]:
    """Durations under their foreign names, in seconds; variables stay as they are."""
    made = {}
    for foreign, ours in names.items():
        with suppress(ValueError):
            made[foreign] = seconds(config.get(ours))
    return made


def _tool(tool: Any) -> list[dict[str, Any]]:
    """A tool as ChatDev writes it, one entry for each function."""
    entry = {"function": tool} if isinstance(tool, str) else tool
    timeout = _lengths(entry, {"timeout": "timeout"}) if entry.get("timeout") else {}
    prefix = _given(entry, ("prefix",))
    if "function" in entry:
        config = {"tools": [{"name": entry["function"]}], **timeout}
        return [{"type": "function", "config": config, **prefix}]
    server = entry.get("mcp")
    if not isinstance(server, dict):
        return []
    if "url" in server:
        config = {"server": server["url"], **_given(server, ("headers",)), **timeout}
        return [{"type": "mcp_remote", "config": config, **prefix}]
    config = {**_given(server, ("command", "args", "env", "cwd")), **timeout}
    if not server.get("inherit_env"):
        config["inherit_env"] = False
    if "start_timeout" in server:
        config |= _lengths(server, {"startup_timeout": "start_timeout"})
    return [{"type": "mcp_local", "config": config, **prefix}]


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
    pattern, flags = _unscoped(config["pattern"])
    first = 1 if "(" in pattern else 0
    group = first if config.get("group") is None else config["group"]
    told: dict[str, Any] = {"pattern": pattern, **flags}
    if group:
        told["group"] = group
    if config.get("on_no_match") == "empty":
        told["on_no_match"] = "empty"
    return {"type": kind, "config": told}


def _unscoped(pattern: str) -> tuple[str, dict[str, bool]]:
    """A pattern whose flags the import put around it, and these flags."""
    found = SCOPED.fullmatch(pattern)
    if found is None:
        return pattern, {"multiline": True}
    on = found[1]
    flags = {name: True for name, flag in REGEX_FLAGS.items() if flag in on}
    others = "".join(flag for flag in on if flag not in "ims")
    if "i" in on:
        flags["case_sensitive"] = False
    return (f"(?{others}){found[2]}" if others else found[2]), flags
