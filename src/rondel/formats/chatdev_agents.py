"""Agents of ChatDev: models, retries, tools, memories and thinking; skills are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rondel.formats.chatdev_memories import Memories
from rondel.formats.chatdev_thinking import INSIDE, reflection_prompt, with_mind
from rondel.formats.translation import Draft
from rondel.graph.paths import Path

CONFIG = (
    *("provider", "name", "role", "base_url", "api_key", "params", "input_mode"),
    *("tooling", "thinking", "memories", "skills", "retry"),
)
DEFAULT_PROVIDER = "openai"
RETRY = {"max_attempts": 5, "min_wait": 1.0, "max_wait": 6.0}
"""How often an agent is asked again there if nothing else is said."""

RETRY_KEYS = {"min_wait_seconds": "min_wait", "max_wait_seconds": "max_wait"}
ALL_OF_A_MODULE = ":All"


def agent(draft: Draft, node: dict[str, Any], path: Path, memories: Memories) -> dict[str, Any]:
    """The node of an agent."""
    place = (*path, "config")
    config = draft.kept(node["config"], place, CONFIG)
    if "provider" not in config:
        draft.change(place, f"the provider is {DEFAULT_PROVIDER}, ChatDev's default")
    found = {"provider": DEFAULT_PROVIDER, **config}
    prompt = reflection_prompt(draft, found.pop("thinking", None), (*place, "thinking"))
    use = memories.use(found.pop("memories", None), (*place, "memories"))
    use = use if prompt is not None else replace(use, after=False)
    is_graph = use.reads or prompt is not None
    native = (*path, *INSIDE) if is_graph else path
    if is_graph:
        draft.moved(native, path)
    _refuse_skills(draft, found, place)
    tools = _tools(draft, found.pop("tooling", None), (*place, "tooling"))
    if tools:
        found["tools"] = tools
        draft.moved((*native, "config", "tools"), (*place, "tooling"))
    retry = _retry(draft, found.pop("retry", None), (*place, "retry"), (*native, "retry"))
    made = {**node, "retry": retry, "config": found} if retry else {**node, "config": found}
    if is_graph:
        return with_mind(draft, made, path, use, prompt)
    if use.writes:
        memories.promoted.append(node.get("id", ""))
    return made


def _refuse_skills(draft: Draft, config: dict[str, Any], place: Path) -> None:
    skills = config.pop("skills", None)
    if isinstance(skills, dict) and skills.get("enabled"):
        draft.refuse((*place, "skills"), "skills have no counterpart", "give the agent tools")


def _retry(draft: Draft, given: Any, path: Path, native: Path) -> dict[str, Any]:
    """The retries of the node; there every agent has some unless it says otherwise."""
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


def _tools(draft: Draft, tooling: Any, path: Path) -> list[Any]:
    if not tooling:
        return []
    several = isinstance(tooling, list)
    tools: list[Any] = []
    for number, entry in enumerate(tooling if several else [tooling]):
        place = (*path, number) if several else path
        tools += _tool_entry(draft, entry, place)
    draft.change(path, "tooling is called tools")
    return tools


def _tool_entry(draft: Draft, entry: Any, path: Path) -> list[Any]:
    kind = entry.get("type") if isinstance(entry, dict) else None
    config = (entry.get("config") if isinstance(entry, dict) else None) or {}
    if kind not in ("function", "mcp_remote", "mcp_local") or not isinstance(config, dict):
        message = f"tooling of type {kind!r} has no counterpart"
        draft.refuse(path, message, "there are function, mcp_remote and mcp_local")
        return []
    timeout = {"timeout": config["timeout"]} if config.get("timeout") else {}
    if kind == "function":
        return _functions(draft, config, timeout, (*path, "config"))
    fields = ("command", "args", "env") if kind == "mcp_local" else ("headers",)
    server = {key: config[key] for key in fields if config.get(key)}
    if kind == "mcp_remote":
        server["url"] = config.get("server")
    if config.get("cwd"):
        hint = "start the server by a command that goes there"
        draft.refuse((*path, "config", "cwd"), "'cwd' has no counterpart", hint)
    return [{"mcp": server, **timeout}]


def _functions(
    draft: Draft, config: dict[str, Any], timeout: dict[str, Any], path: Path
) -> list[Any]:
    tools: list[Any] = []
    given = config.get("tools")
    for number, tool in enumerate(given if isinstance(given, list) else []):
        name = tool.get("name") if isinstance(tool, dict) else tool
        if isinstance(name, str) and name.endswith(ALL_OF_A_MODULE):
            message = f"all functions of a module at once ({name!r}) have no counterpart"
            draft.refuse((*path, "tools", number), message, "name the functions")
        else:
            tools.append({"function": name, **timeout} if timeout else name)
    return tools
