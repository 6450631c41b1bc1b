"""Agents of ChatDev: models, retries, tools, memories, thinking and skills.

One that does more than answer, because it remembers or reflects on its answer, is a graph of its
own here, so that it stays one node for those around it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rondel.formats.chatdev_memories import Memories, Use
from rondel.formats.referenced_files import Unreadable, skills
from rondel.formats.translation import Draft
from rondel.graph.names import Names
from rondel.graph.source import Path

CONFIG = (
    *("provider", "name", "role", "base_url", "api_key", "params", "input_mode"),
    *("tooling", "thinking", "memories", "skills", "retry"),
)
DEFAULT_PROVIDER = "openai"
RETRY = {"max_attempts": 5, "min_wait": 1.0, "max_wait": 6.0}
"""ChatDev's default retries of an agent."""

RETRY_KEYS = {"min_wait_seconds": "min_wait", "max_wait_seconds": "max_wait"}
TOOLING = {
    "function": ("tools", "timeout"),
    "mcp_remote": ("server", "headers", "timeout"),
    "mcp_local": ("command", "args", "cwd", "env", "inherit_env", "startup_timeout", "timeout"),
}
TOOLING_USELESS = {
    "auto_load": "functions are known once --functions names their folder",
    "cache_ttl": "a server is asked for its tools once a connection",
    "tool_sources": "all tools of the server are offered",
    "wait_for_log": "a server is there when it answers",
}
SKILLS_TOLD = "You have these skills. Follow the instructions of one where it fits the task."
TOOL_ROUNDS = 50
"""ChatDev's limit of tool rounds of an agent."""
HEARD, RECALL, ANSWER, REFLECTION = "heard", "recall", "answer", "reflection"
REFLECTS = "reflection"
WITHOUT_TEXT = {"type": "regex_extract", "config": {"pattern": r"\A"}}
"""An edge process that drops the text of a message, which the agent has already."""

MODEL = ("provider", "name", "base_url", "api_key", "params")
INSIDE: Path = ("config", "graph", "nodes", 0)
"""The id of the agent inside its subgraph."""


def agent(
    draft: Draft, node: dict[str, Any], path: Path, memories: Memories, file: str
) -> dict[str, Any]:
    """The node for an agent."""
    place = (*path, "config")
    given = draft.kept(node["config"], place, CONFIG)
    config = {key: value for key, value in given.items() if value is not None}
    if "provider" not in config:
        draft.change(place, f"the provider is {DEFAULT_PROVIDER}, ChatDev's default")
    found = {"provider": DEFAULT_PROVIDER, **config}
    prompt = _reflection_prompt(draft, found.pop("thinking", None), (*place, "thinking"))
    use = memories.use(found.pop("memories", None), (*place, "memories"))
    use = use if prompt is not None else replace(use, after=False)
    is_graph = use.reads or prompt is not None
    native = (*path, *INSIDE) if is_graph else path
    if is_graph:
        draft.moved(native, path)
    _add_skills(draft, found, place, file)
    tools = _tools(draft, found.pop("tooling", None), (*place, "tooling"))
    if tools:
        found["tools"] = [tool for tool, _ in tools]
        found["max_tool_rounds"] = _tool_rounds(found)
        for number, (_, origin) in enumerate(tools):
            draft.moved((*native, "config", "tools", number), origin)
    retry = _retry(draft, found.pop("retry", None), (*place, "retry"), (*native, "retry"))
    made = {**node, "retry": retry, "config": found} if retry else {**node, "config": found}
    if is_graph:
        return _with_mind(draft, made, path, use, prompt)
    if use.writes:
        memories.promoted.append(node.get("id", ""))
    return made


def _tool_rounds(config: dict[str, Any]) -> int:
    params = config.get("params")
    limit = params.get("tool_loop_limit") if isinstance(params, dict) else None
    if isinstance(params, dict) and "tool_loop_limit" in params:
        config["params"] = {key: params[key] for key in params if key != "tool_loop_limit"}
    return limit if type(limit) is int and limit > 0 else TOOL_ROUNDS


def _add_skills(draft: Draft, config: dict[str, Any], place: Path, file: str) -> None:
    """Put the documents of the agent's skills into its role."""
    given = config.pop("skills", None)
    if not isinstance(given, dict) or not given.get("enabled"):
        return
    listed = given.get("allow")
    named = [
        each.get("name") if isinstance(each, dict) else each
        for each in (listed if isinstance(listed, list) else [])
    ]
    where = (*place, "skills")
    try:
        found = skills(file, [name for name in named if isinstance(name, str)])
    except Unreadable as error:
        draft.leave_out(where, f"no skill is read: {error}")
        return
    if not found:
        draft.leave_out(where, "there are no skills beside the file")
        return
    parts = [f"<skill name={name!r}>\n{text.strip()}\n</skill>" for name, text in found.items()]
    role = [config["role"]] if isinstance(config.get("role"), str) and config["role"] else []
    config["role"] = "\n\n".join([*role, SKILLS_TOLD, *parts])
    draft.change(where, f"what the skills say is part of the role: {', '.join(found)}")


def _retry(draft: Draft, given: Any, path: Path, native: Path) -> dict[str, Any]:
    """The retries of the node; in ChatDev every agent has some by default."""
    if given is None:
        draft.change(path[:-1], "failed calls are made again up to 4 times, ChatDev's default")
        return dict(RETRY)
    draft.moved(native, path)
    if not isinstance(given, dict):
        return {"max_attempts": given}
    useless = {"retry_on_status_codes": "whatever fails is tried again"}
    kept = draft.kept(given, path, ("enabled", "max_attempts", *RETRY_KEYS), useless)
    if kept.pop("enabled", True) is False:
        return {}
    for foreign, ours in RETRY_KEYS.items():
        if foreign in kept:
            kept[ours] = kept.pop(foreign)
            draft.moved((*native, ours), (*path, foreign))
    draft.change(path, "the retries are the node's now")
    return {**RETRY, **kept}


def _tools(draft: Draft, tooling: Any, path: Path) -> list[tuple[Any, Path]]:
    """The tools, each with where the file names it."""
    if not tooling:
        return []
    several = isinstance(tooling, list)
    tools: list[tuple[Any, Path]] = []
    for number, entry in enumerate(tooling if several else [tooling]):
        place = (*path, number) if several else path
        tools += _tool_entry(draft, entry, place)
    draft.change(path, "tooling is called tools")
    return tools


def _tool_entry(draft: Draft, entry: Any, path: Path) -> list[tuple[Any, Path]]:
    kind = entry.get("type") if isinstance(entry, dict) else None
    config = (entry.get("config") if isinstance(entry, dict) else None) or {}
    if not isinstance(kind, str) or kind not in TOOLING or not isinstance(config, dict):
        message = f"tooling of type {kind!r} has no counterpart"
        draft.refuse(path, message, "there are function, mcp_remote and mcp_local")
        return []
    kept = draft.kept(entry, path, ("type", "config", "prefix"))
    shared = {"prefix": kept["prefix"]} if kept.get("prefix") else {}
    place = (*path, "config")
    known = draft.kept(config, place, TOOLING[kind], TOOLING_USELESS)
    if known.get("timeout"):
        shared["timeout"] = known["timeout"]
    if kind == "function":
        return _functions(known, shared, (*place, "tools"))
    return [({"mcp": _server(known, kind), **shared}, place)]


def _server(config: dict[str, Any], kind: str) -> dict[str, Any]:
    if kind == "mcp_remote":
        headers = {"headers": config["headers"]} if config.get("headers") else {}
        return {**headers, "url": config.get("server")}
    server = {key: config[key] for key in ("command", "args", "env", "cwd") if config.get(key)}
    if config.get("inherit_env") is not False:
        server["inherit_env"] = True  # there the default
    if config.get("startup_timeout"):
        server["start_timeout"] = config["startup_timeout"]
    return server


def _functions(
    config: dict[str, Any], shared: dict[str, Any], path: Path
) -> list[tuple[Any, Path]]:
    given = config.get("tools")
    named = [
        tool.get("name") if isinstance(tool, dict) else tool
        for tool in (given if isinstance(given, list) else [])
    ]
    return [
        ({"function": name, **shared} if shared else name, (*path, number))
        for number, name in enumerate(named)
    ]


# Those that remember or reflect


def _reflection_prompt(draft: Draft, thinking: Any, path: Path) -> str | None:
    """The prompt to reflect on the answer; None if the agent does not reflect."""
    if not thinking:
        return None
    kind = thinking.get("type") if isinstance(thinking, dict) else thinking
    if kind != REFLECTS:
        hint = Names((REFLECTS,), what="there is").hint(str(kind))
        draft.refuse(path, f"thinking of type {kind!r} has no counterpart", hint)
        return None
    config = thinking.get("config")
    prompt = config.get("reflection_prompt") if isinstance(config, dict) else None
    if not isinstance(prompt, str) or not prompt.strip():
        hint = "add: config: {reflection_prompt: ...}"
        draft.refuse(path, "the reflection has no reflection_prompt", hint)
        return None
    return prompt


def _with_mind(
    draft: Draft, agent: dict[str, Any], path: Path, use: Use, prompt: str | None
) -> dict[str, Any]:
    """The subgraph node for an agent that reads memories or reflects."""
    answer: dict[str, Any] = {
        key: agent[key] for key in ("type", "retry", "config") if key in agent
    }
    nodes: list[dict[str, Any]] = [
        {"id": ANSWER, **answer},
        {"id": HEARD, "type": "passthrough", "config": {"only_last_message": False}},
    ]
    if use.reads:
        nodes.append({"id": RECALL, "type": "memory", "config": use.config})
        draft.change(path, "a memory node reads for the agent")
    if prompt is not None:
        draft.moved((*path, *INSIDE[:-1], len(nodes)), path)
        nodes.append({"id": REFLECTION, **answer, "config": _reflecting(agent["config"], prompt)})
        draft.change(path, "the reflection is an agent of its own, asked in other words")
    graph: dict[str, Any] = {
        "id": str(agent.get("id", ANSWER)),
        "start": [HEARD],
        "end": [REFLECTION if prompt is not None else ANSWER],
        "nodes": nodes,
        "edges": _edges(use, reflects=prompt is not None),
    }
    if use.writes:
        graph["memory"] = {"promote": list(graph["end"])}
    outside = ("id", "description", "context_window")
    around: dict[str, Any] = {key: agent[key] for key in outside if key in agent}
    return {**around, "type": "subgraph", "config": {"graph": graph}}


def _reflecting(config: dict[str, Any], prompt: str) -> dict[str, Any]:
    model = {key: config[key] for key in MODEL if key in config}
    system = f"SYSTEM: {config['role']}\n\n" if config.get("role") else ""
    role = f"Here is a conversation between two roles.\n\n{system}{prompt}"
    return {**model, "role": role, "input_mode": "prompt"}


def _edges(use: Use, *, reflects: bool) -> list[dict[str, Any]]:
    edges: list[dict[str, Any]] = []
    if use.reads:
        edges.append({"from": HEARD, "to": RECALL})
    if use.before:
        edges.append({"from": RECALL, "to": ANSWER, "process": WITHOUT_TEXT})
        edges.append({"from": HEARD, "to": ANSWER, "trigger": False})
    else:
        edges.append({"from": HEARD, "to": ANSWER})
    if reflects:
        edges.append({"from": HEARD, "to": REFLECTION, "trigger": False})
        edges.append({"from": ANSWER, "to": REFLECTION})
    if reflects and use.after:
        edges.append({"from": RECALL, "to": REFLECTION, "trigger": False, "process": WITHOUT_TEXT})
    return edges
