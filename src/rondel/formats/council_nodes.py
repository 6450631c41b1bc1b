"""Nodes of Council: each type by its properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rondel.formats.extension import KEY
from rondel.formats.translation import Draft
from rondel.graph.source import Path

Settings = dict[str, Any]

ACTIONS = ["apply", "continue", "rollback", "exit"]
"""The actions of a reviewer inside a loop."""

ROLES = ("system_prompt", "persona_prompt", "prompt", "persona", "role")
"""Where a file may have what an agent is told to be; the first text of them counts."""

MODEL = ("provider", "model", "base_url", "api_key", "temperature", "max_tokens", "top_p")
AGENT = ("agent_id", "agent_uuid", *ROLES, *MODEL, "model_config", "output_format")
VOTERS = ("agents", "agent_ids", "agent_uuids")
PARAMS = ("temperature", "max_tokens", "top_p")
VERDICT = "structured_verdict"
"""The one format of answers that Council knows by name."""

WHOLE = {"type": "integer", "minimum": 0, "maximum": 100}
SCORED = ("strategic_alignment", "practical_value", "logical_consistency", "weighted_total")
VERDICT_SCHEMA: Settings = {
    "type": "object",
    "properties": {
        "score": {
            "type": "object",
            "properties": dict.fromkeys(SCORED, WHOLE),
            "required": list(SCORED),
            "additionalProperties": False,
        },
        "verdict": {"type": "string"},
        "exit_recommendation": {"type": "boolean"},
    },
    "required": ["score", "verdict", "exit_recommendation"],
    "additionalProperties": False,
}
"""What such an answer holds; the loop reads `score.weighted_total`."""

LOST = {
    "tools": "behaviour is lost: give the agent tools",
    "capabilities": "behaviour is lost: give the agent tools",
}
"""Settings of agents without a counterpart; each is reported by name."""

REVIEW = ("timeout_minutes", "allow_skip", "description", "actions")
REVIEW_USELESS = {
    "show_score": "the reviewer sees the score in what he is asked about",
    "review_type": "behaviour is lost: the reviewer chooses an action and edits nothing",
}

DEFAULT_RESULTS = 5
DEFAULT_ROUNDS = 3
REPORTS = ("system_prompt", "summary_prompt", "prompt")
"""What an end is told to write, by its names."""

NOTHING_RECALLED = {"task": False, "own": 0}
"""The recall of agents: none, since Council shows an agent only the shared state."""


def node_of(draft: Draft, name: str, node: Settings, path: Path) -> Settings:
    """The node for a Council node."""
    properties = node.get("properties") or {}
    if not isinstance(properties, dict):
        draft.refuse((*path, "properties"), "the properties are not a mapping", "remove them")
        properties = {}
    made = TYPES[node["type"]](draft, node, properties, (*path, "properties"))
    described = {"description": node["name"]} if node.get("name") else {}
    return {"id": name, **made, **described}


def _plain(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    draft.kept(properties, path, ())
    return {"type": "passthrough", "config": {}}


def _end(draft: Draft, node: Settings, properties: Settings, path: Path) -> Settings:
    asked = next((properties[key] for key in REPORTS if properties.get(key)), None)
    if asked is not None:
        draft.change(path, "the end that writes a report is an agent")
        others = {key: value for key, value in properties.items() if key not in REPORTS}
        return _agent(draft, node, {**others, "system_prompt": asked}, path)
    draft.kept(properties, path, MODEL)
    if KEY not in node:
        message = "the end has no prompt and writes no report: behaviour is lost"
        draft.leave_out(path, message, "give it a system_prompt, as in: Sum up what was said.")
    return {"type": "passthrough", "config": {}}


def _agent(draft: Draft, node: Settings, properties: Settings, path: Path) -> Settings:
    config = _model(draft, node, properties, path)
    return {"type": "agent", "config": {**config, "recall": dict(NOTHING_RECALLED)}}


def _model(draft: Draft, node: Settings, properties: Settings, path: Path) -> Settings:
    kept = draft.kept(properties, path, AGENT, LOST)
    settings = kept.get("model_config")
    kept = {**settings, **kept} if isinstance(settings, dict) else kept
    persona = kept.get("agent_uuid") or kept.get("agent_id")
    role = next((kept[key] for key in ROLES if kept.get(key) and isinstance(kept[key], str)), "")
    if not role:
        called = node.get("name") or persona or "agent"
        role = f"You are {called}."
        message = f"the persona of {persona or called!r} is not part of the file"
        draft.leave_out(path, message, "write its prompt into the node's system_prompt")
    config: Settings = {"role": role}
    for foreign, native in (("provider", "provider"), ("model", "name")):
        if kept.get(foreign):
            config[native] = kept[foreign]
    for key in ("base_url", "api_key"):
        if kept.get(key):
            config[key] = kept[key]
    if answers := _answers(draft, kept.get("output_format"), (*path, "output_format")):
        config["output_schema"] = answers
    params = {key: kept[key] for key in PARAMS if kept.get(key) is not None}
    return {**config, "params": params} if params else config


def _answers(draft: Draft, output_format: Any, path: Path) -> Settings | None:
    """The schema of the agent's answers, if they are of a format that is known."""
    if output_format == VERDICT:
        draft.change(path, "the verdict is an output_schema; the loop reads its weighted_total")
        return VERDICT_SCHEMA
    if output_format:
        message = f"'output_format' {output_format!r} has no counterpart: behaviour is lost"
        hint = "say in the system_prompt how it answers, or give it an output_schema"
        draft.leave_out(path, message, hint)
    return None


def _vote(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    kept = draft.kept(properties, path, ("threshold", "vote_type", *VOTERS))
    config = {key: kept[key] for key in ("threshold", "vote_type") if kept.get(key) is not None}
    agents = kept.get("agents") or kept.get("agent_ids") or kept.get("agent_uuids") or []
    listed = list(agents) if isinstance(agents, list | dict) else [None]
    names = [name for name in listed if isinstance(name, str)]
    if len(names) < len(listed):
        hint = 'write them as ["first", "second"]'
        draft.refuse(path, "the agents of the vote are not a list of names", hint)
        names = names or ["nobody"]
    if not names:
        draft.leave_out(path, "there is nobody to poll: the vote passes, as there")
        return {"type": "passthrough", "config": {}}
    told = agents if isinstance(agents, dict) else {}
    config["agents"] = {name: _voter(draft, name, told.get(name), path) for name in names}
    return {"type": "vote", "config": config}


def _voter(draft: Draft, name: str, given: Any, path: Path) -> Settings:
    """A voter: the agent of that name before the vote if there is one, else only a name."""
    if not isinstance(given, dict) or not given:
        return {"role": f"You are {name}."}
    known = [key for key in AGENT if key in given and key != "output_format"]
    return _model(draft, {"name": name}, {key: given[key] for key in known}, path)


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
    kept = draft.kept(properties, path, REVIEW, REVIEW_USELESS)
    actions = _actions(draft, kept.get("actions"), (*path, "actions"))
    asked = kept.get("description") or f"Review it: {', '.join(actions)}."
    config: Settings = {"description": asked, "actions": actions}
    minutes = kept.get("timeout_minutes")
    if minutes:
        config["timeout"] = f"{minutes}m"
        if kept.get("allow_skip"):
            config["on_timeout"] = "continue"
    return {"type": "human", "config": config}


def _actions(draft: Draft, given: Any, path: Path) -> list[str]:
    """What the reviewer can say: what the file offers of it, else all."""
    named = given if isinstance(given, list) else []
    for place, action in enumerate(named):
        if action not in ACTIONS:
            message = f"the action {action!r} has no counterpart: behaviour is lost"
            draft.leave_out((*path, place), message, f"there are {', '.join(ACTIONS)}")
    return [action for action in ACTIONS if action in named] or list(ACTIONS)


def _memory(draft: Draft, _node: Settings, properties: Settings, path: Path) -> Settings:
    useless = {
        "time_range_days": "working memory has one age for all, graph.memory.max_age",
        "include_verdicts": "what agents say is remembered if graph.memory.promote names them",
    }
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
    """The value as an integer if it is whole: 5.0 is 5."""
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
