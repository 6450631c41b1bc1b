"""An agent of ChatDev that does more than answer: it remembers, or reflects on its answer.

Such a node is a graph of its own here, so that it stays one node for those around it.
"""

from __future__ import annotations

from typing import Any

from rondel.formats.chatdev_memories import Use
from rondel.formats.translation import Draft
from rondel.graph.names import Names
from rondel.graph.source import Path

HEARD, RECALL, ANSWER, REFLECTION = "heard", "recall", "answer", "reflection"
REFLECTS = "reflection"
WITHOUT_TEXT = {"type": "regex_extract", "config": {"pattern": r"\A"}}
"""An edge process that drops the text of a message, which the agent has already."""

MODEL = ("provider", "name", "base_url", "api_key", "params")
INSIDE: Path = ("config", "graph", "nodes", 0)
"""The id of the agent inside its subgraph."""


def reflection_prompt(draft: Draft, thinking: Any, path: Path) -> str | None:
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


def with_mind(
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
