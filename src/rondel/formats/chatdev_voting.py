"""Majority voting of ChatDev: every node answers the task, and what most of them say counts."""

from __future__ import annotations

from typing import Any

from rondel.formats.translation import Draft
from rondel.graph.paths import Path

RESULT = "MAJORITY_VOTE"


def hold_vote(draft: Draft, body: dict[str, Any], path: Path) -> None:
    """Let every node of a graph start, and a node at its end hand on what most of them say."""
    nodes = body.get("nodes")
    if not isinstance(nodes, list):
        return
    voters = [node["id"] for node in nodes if isinstance(node, dict) and _has_id(node)]
    if body.pop("edges", None):
        draft.leave_out((*path, "edges"), "in a majority vote no edge is followed, as there")
    result = RESULT
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


def _has_id(node: dict[str, Any]) -> bool:
    return isinstance(node.get("id"), str) and bool(node["id"])
