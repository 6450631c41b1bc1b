"""Nodes of Council: each type by its properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rondel.formats.translation import Draft
from rondel.graph.paths import Path

ACTIONS = ["apply", "continue", "rollback", "exit"]
"""What a reviewer inside a loop can say."""

AGENT = (
    *("agent_id", "agent_uuid", "system_prompt", "prompt", "role", "model", "provider"),
    *("temperature", "max_tokens", "top_p", "base_url", "api_key"),
)
VOTERS = ("agents", "agent_ids", "agent_uuids")
PARAMS = ("temperature", "max_tokens", "top_p")
LOST = {
    "output_format": "behaviour is lost: say in the role how it answers, or give an output_schema",
    "tools": "behaviour is lost: give the agent tools",
    "persona": "behaviour is lost: write it into the node's role",
}
"""What an agent is told besides, of which there is no counterpart; each is told by name."""

DEFAULT_RESULTS = 5
DEFAULT_ROUNDS = 3

Settings = dict[str, Any]


def node_of(draft: Draft, name: str, node: Settings, path: Path) -> Settings:
    """The node of a Council node."""
    properties = node.get("properties") or {}
    if not isinstance(properties, dict):
        draft.refuse((*path, "properties"), "the properties are not a mapping", "remove them")
        properties = {}
    made = TYPES[node["type"]](draft, node, properties, (*path, "properties"))
    described = {"description": node["name"]} if node.get("name") else {}
    return {"id": name, **made, **described}


NOTHING_RECALLED = {"task": False, "own": 0}
"""There an agent sees the shared state, and nothing of what it said before."""


def _plain(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    draft.kept(properties, path, ())
    return {"type": "passthrough", "config": {}}


def _end(draft: Draft, node: Settings, properties: Settings, path: Path) -> Settings:
    if any(properties.get(key) for key in ("system_prompt", "prompt")):
        draft.change(path, "the end that writes a report is an agent")
        return _agent(draft, node, properties, path)
    known = ("model", "provider")
    draft.kept(properties, path, known)
    return {"type": "passthrough", "config": {}}


def _agent(draft: Draft, node: Settings, properties: Settings, path: Path) -> Settings:
    config = _model(draft, node, properties, path)
    return {"type": "agent", "config": {**config, "recall": dict(NOTHING_RECALLED)}}


def _model(draft: Draft, node: Settings, properties: Settings, path: Path) -> Settings:
    kept = draft.kept(properties, path, AGENT, LOST)
    persona = kept.get("agent_uuid") or kept.get("agent_id")
    role = next((kept[key] for key in ("system_prompt", "prompt", "role") if kept.get(key)), "")
    if not role:
        called = node.get("name") or persona or "agent"
        role = f"You are {called}."
        message = f"the persona of {persona or called!r} is not part of the file"
        draft.leave_out(path, message, "write its prompt into the node's role")
    config: Settings = {"role": role}
    for foreign, native in (("provider", "provider"), ("model", "name")):
        if kept.get(foreign):
            config[native] = kept[foreign]
    for key in ("base_url", "api_key"):
        if kept.get(key):
            config[key] = kept[key]
    params = {key: kept[key] for key in PARAMS if kept.get(key) is not None}
    return {**config, "params": params} if params else config


def _vote(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    kept = draft.kept(properties, path, ("threshold", "vote_type", *VOTERS))
    config = {key: kept[key] for key in ("threshold", "vote_type") if kept.get(key) is not None}
    agents = kept.get("agents") or kept.get("agent_ids") or kept.get("agent_uuids") or []
    names = list(agents) if isinstance(agents, list | dict) else []
    if not names:
        draft.refuse(path, "the vote has no agents", "name them in properties.agents")
    told = agents if isinstance(agents, dict) else {}
    config["agents"] = {str(name): _voter(draft, str(name), told.get(name), path) for name in names}
    return {"type": "vote", "config": config}


def _voter(draft: Draft, name: str, given: Any, path: Path) -> Settings:
    """Who votes: as the agent before the vote, if it is one, else by its name alone."""
    if not isinstance(given, dict) or not given:
        return {"role": f"You are {name}."}
    return _model(draft, {"name": name}, {key: given[key] for key in AGENT if key in given}, path)


def _loop(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    useless = {"agent_pairs": "a debate inside one node is a node of type debate"}
    known = ("max_rounds", "exit_on_score", "exit_condition")
    kept = draft.kept(properties, path, known, useless)
    config: Settings = {"max_rounds": _whole(kept.get("max_rounds") or DEFAULT_ROUNDS)}
    if kept.get("exit_on_score"):
        config["exit_on_score"] = kept["exit_on_score"]
    if kept.get("exit_condition"):
        config["exit_condition"] = kept["exit_condition"]
    return {"type": "loop", "config": config}


def _fact_check(draft: Draft, node: Settings, properties: Settings, path: Path) -> Settings:
    useless = {"search_sources": "give the agent tools", "max_queries": "give the agent tools"}
    kept = draft.kept(properties, path, (*AGENT, "verify_threshold"), useless)
    threshold = kept.pop("verify_threshold", None)
    agent = {"role": "You check facts."} if not kept else _model(draft, node, kept, path)
    config: Settings = {"agent": agent}
    if threshold is not None:
        config["verify_threshold"] = threshold
    return {"type": "fact_check", "config": config}


def _human_review(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    kept = draft.kept(properties, path, ("timeout_minutes", "allow_skip", "description"))
    asked = kept.get("description") or "Review it: apply, continue, rollback or exit."
    config: Settings = {"description": asked, "actions": list(ACTIONS)}
    minutes = kept.get("timeout_minutes")
    if minutes:
        config["timeout"] = f"{minutes}m"
        if kept.get("allow_skip"):
            config["on_timeout"] = "continue"
    return {"type": "human", "config": config}


def _memory(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    useless = {"time_range_days": "working memory has one age for all, graph.memory.max_age"}
    kept = draft.kept(properties, path, ("max_results",), useless)
    return {"type": "memory", "config": {"limit": _whole(kept.get("max_results", DEFAULT_RESULTS))}}


def _context_synth(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    kept = draft.kept(properties, path, ("max_recent_rounds",))
    message = "older rounds than the newest ones are forgotten, not summed up"
    draft.change(path, message)
    window = _whole(kept.get("max_recent_rounds") or DEFAULT_ROUNDS)
    config = {"only_last_message": False}
    return {"type": "passthrough", "config": config, "context_window": window}


def _whole(value: Any) -> Any:
    """JSON knows no whole numbers; 5.0 is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


TYPES: dict[str, Callable[[Draft, Settings, Settings, Path], Settings]] = {
    "start": _plain,
    "end": _end,
    "agent": _agent,
    "parallel": _plain,
    "vote": _vote,
    "loop": _loop,
    "fact_check": _fact_check,
    "human_review": _human_review,
    "memory_retrieval": _memory,
    "context_synth": _context_synth,
}
