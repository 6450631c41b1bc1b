"""What a fork may change of a node."""

from __future__ import annotations

from typing import Any

from rondel.errors import CallError


def change_node(nodes: list[dict[str, Any]], path: str, value: Any) -> None:
    """Set a value at a path that begins with the id of one of the nodes."""
    named = [node for node in nodes if path.startswith(f"{node['id']}.")]
    if not named:
        names = ", ".join(str(node["id"]) for node in nodes)
        raise CallError(f"nodes.{path} names no node; the nodes are {names}")
    place = max(named, key=lambda node: len(str(node["id"])))
    *around, last = path.removeprefix(f"{place['id']}.").split(".")
    if (around or [last])[0] != "config":
        raise CallError(f"a fork can change a node's config, not nodes.{path}")
    for key in around:
        place = place.setdefault(key, {})
    place[last] = value
