"""ChatDev 2.0: its YAML as a graph document of the dialect `chatdev`.

What is wrong in ways that this system would find too is left for the loader to find.
"""

from __future__ import annotations

from typing import Any

from rondel.formats.chatdev_agents import agent
from rondel.formats.chatdev_edges import edges
from rondel.formats.chatdev_memories import Memories
from rondel.formats.extension import KEY, extended
from rondel.formats.translation import Draft, Translation, mappings_in
from rondel.graph.names import Names
from rondel.graph.positions import Parsed
from rondel.graph.source import Path

DIALECT = "chatdev"
GRAPH = ("id", "description", "start", "end", "nodes", "edges")
GRAPH_USELESS = {
    "log_level": "every step is in the journal",
    "organization": "graphs are not grouped",
    "initial_instruction": "nothing is shown before a run",
}
NODE = ("id", "type", "description", "context_window", "config")
NODE_USELESS = {
    "log_output": "every output is in the journal",
    "input": "messages come along edges",
    "output": "a node produces its output",
    "vars": "variables belong to the whole file",
    "dynamic": "ChatDev itself reads it on edges only",
}
CONFIGS = {
    "human": ("description",),
    "passthrough": ("only_last_message",),
    "literal": ("content", "role"),
    "loop_counter": ("max_iterations", "reset_on_emit", "message"),
    "loop_timer": ("max_duration", "duration_unit", "reset_on_emit", "message", "passthrough"),
    "python": ("timeout_seconds", "interpreter", "args", "env", "encoding"),
    "subgraph": ("type", "config"),
    "template": ("template",),
}
"""The config keys of each node type except `agent`."""

VOTE = "MAJORITY_VOTE"
"""The node that counts a majority vote."""

SCRIPT_MEMORY = "1GB"
"""The memory limit of a script, large enough for data libraries; ChatDev has no limit."""


def translate(parsed: Parsed, file: str) -> Translation:
    """The graph document of a ChatDev document."""
    draft = Draft(parsed, file)
    data = parsed.data
    if not isinstance(data, dict) or not isinstance(data.get("graph"), dict):
        draft.refuse((), "there is no 'graph:' section", "begin with 'graph:'")
        return draft.give_up()
    if data["graph"].get("dialect") == DIALECT:
        return draft.finish(data)  # it was translated already
    kept = draft.kept(data, (), ("version", "vars", "graph"))
    if "version" in kept:
        draft.change(("version",), "the version is that of this format now, 1")
    document: dict[str, Any] = {"version": 1}
    if kept.get("vars"):
        document["vars"] = kept["vars"]
    document["graph"] = _graph(draft, kept["graph"], ("graph",), file)
    return draft.finish(document)


def _graph(draft: Draft, graph: dict[str, Any], path: Path, file: str) -> dict[str, Any]:
    known = (*GRAPH, "is_majority_voting", "vars", "memory", KEY)
    body = draft.kept(graph, path, known, GRAPH_USELESS)
    extension = body.pop(KEY, None)
    votes = body.pop("is_majority_voting", False) is True
    if body.pop("vars", None):
        draft.refuse((*path, "vars"), "vars belong to the top of the file", "move them there")
    if not body.get("id"):
        body["id"] = _stem(file)
        draft.change(path, f"the graph had no id and is called {body['id']!r}")
    nodes = body.get("nodes")
    if votes:
        _hold_vote(draft, body, path)
        nodes = body.get("nodes")
    outermost = path == ("graph",)
    if not body.get("start"):
        _start(draft, body, path, outermost=outermost)
    memory = body.pop("memory", None)
    memories = Memories(draft, memory, (*path, "memory"), file, outermost=outermost)
    if isinstance(nodes, list):
        body["nodes"] = [
            _node(draft, node, (*path, "nodes", place), file, memories)
            for place, node in enumerate(nodes)
        ]
    if section := memories.finish():
        body["memory"] = section
    if isinstance(body.get("edges"), list):
        body["edges"] = edges(draft, body["edges"], (*path, "edges"), extension)
    made = extended(
        draft, {"id": body.pop("id"), "dialect": DIALECT, **body}, extension, path, path
    )
    if made.get("dialect") == DIALECT:
        draft.change(path, f"dialect: {DIALECT} makes it run by ChatDev's rules")
    return made


def _node(draft: Draft, node: Any, path: Path, file: str, memories: Memories) -> Any:
    if not isinstance(node, dict):
        return node
    kept = draft.kept(node, path, (*NODE, KEY), NODE_USELESS)
    extension = kept.pop(KEY, None)
    translated = _translated(draft, kept, path, file, memories)
    return extended(draft, translated, extension, path, path)


def _translated(
    draft: Draft, kept: dict[str, Any], path: Path, file: str, memories: Memories
) -> dict[str, Any]:
    type_, config = kept.get("type"), kept.get("config")
    if isinstance(type_, str) and type_ not in (*CONFIGS, "agent"):
        hint = Names((*CONFIGS, "agent"), what="ChatDev has").hint(type_)
        draft.refuse((*path, "type"), f"there is no node type {type_!r} in ChatDev", hint)
        return {**kept, "type": "passthrough", "config": {}}
    if config is None:
        draft.refuse(path, f"the node {kept.get('id')!r} has no config", "add: config: {}")
    if not isinstance(config, dict) or not isinstance(type_, str):
        return kept
    place = (*path, "config")
    if type_ == "agent":
        return agent(draft, kept, path, memories, file)
    kept["config"] = found = draft.kept(config, place, CONFIGS[type_])
    if type_ == "python":
        kept["config"] = _python(draft, found, place)
    if type_ == "subgraph":
        _subgraph(draft, found, place, file)
    return kept


def _subgraph(draft: Draft, config: dict[str, Any], path: Path, file: str) -> None:
    inner = config.get("config")
    if config.get("type") == "config" and isinstance(inner, dict):
        config["config"] = _graph(draft, inner, (*path, "config"), file)


def _python(draft: Draft, config: dict[str, Any], path: Path) -> dict[str, Any]:
    for key in ("interpreter", "encoding"):
        if config.get(key):
            reason = "the code runs in this Python, and in UTF-8"
            draft.leave_out((*path, key), f"{key!r} has no counterpart: {reason}")
    draft.change(path, "runs: message makes it run the code it is sent")
    draft.moved((*path, "timeout"), (*path, "timeout_seconds"))
    timeout = config.get("timeout_seconds")
    made: dict[str, Any] = {
        "runs": "message",
        "timeout": 60 if timeout is None else timeout,
        "memory": SCRIPT_MEMORY,
        "packages": True,
    }
    return {**made, **{key: config[key] for key in ("args", "env") if config.get(key)}}


def _start(draft: Draft, body: dict[str, Any], path: Path, *, outermost: bool) -> None:
    """Refuse a graph without a start; an inner one starts where no edge enters, if it can."""
    hint = "name its start node, as in: start: [first]"
    entrances = [] if outermost else _entrances(body)
    if not entrances:
        draft.refuse(path, "the graph has no start", hint)
    else:
        named = " and ".join(map(repr, entrances))
        message = f"the inner graph has no start; it starts with {named}, in ChatDev not at all"
        draft.leave_out(path, message, hint)
    body["start"] = entrances or _first_id(body.get("nodes"))


def _entrances(body: dict[str, Any]) -> list[str]:
    """The nodes that no edge enters."""
    entered = [edge.get("to") for edge in mappings_in(body.get("edges"))]
    found = [node["id"] for node in mappings_in(body.get("nodes")) if _has_text_id(node)]
    return [name for name in dict.fromkeys(found) if name not in entered]


def _first_id(nodes: Any) -> list[Any]:
    """A start to continue with, so that a missing start is reported once."""
    return [node["id"] for node in mappings_in(nodes) if "id" in node][:1]


def _stem(file: str) -> str:
    name = file.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name or "graph"


def _hold_vote(draft: Draft, body: dict[str, Any], path: Path) -> None:
    """Let every node of a graph start, and a node at its end hand on what most of them say."""
    nodes = body.get("nodes")
    if not isinstance(nodes, list):
        return
    voters = [node["id"] for node in mappings_in(nodes) if _has_text_id(node)]
    if body.pop("edges", None):
        draft.leave_out((*path, "edges"), "in a majority vote no edge is followed, as there")
    result = VOTE
    while result in voters:
        result += "_"
    counting = {"id": result, "type": "passthrough", "config": {"only_last_message": False}}
    counting["x-rondel"] = {"config": {"majority": True}}
    body["nodes"] = [*nodes, counting]
    body["start"], body["end"] = voters, [result]
    body["edges"] = [{"from": voter, "to": result} for voter in dict.fromkeys(voters)]
    draft.moved((*path, "edges"), (*path, "is_majority_voting"))
    draft.moved((*path, "nodes", len(nodes)), (*path, "is_majority_voting"))
    draft.change((*path, "is_majority_voting"), f"the node {result!r} counts what the others say")


def _has_text_id(node: dict[str, Any]) -> bool:
    return isinstance(node.get("id"), str) and bool(node["id"])
