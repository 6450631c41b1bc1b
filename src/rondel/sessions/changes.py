"""What a fork may change of a graph: the settings of its nodes, and the contract of the run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rondel.errors import CallError

NODES, LOOPS, CONTRACT = "nodes", "loops", ("limits", "breaker")
"""Where a change may be: in a node, in a loop's contract, or in that of the whole run."""


def is_of_graph(path: str) -> bool:
    """Whether a path leads to what a fork may change of its graph."""
    return path.partition(".")[0] in (NODES, LOOPS, *CONTRACT) and path != NODES


def body_of(document: dict[str, Any]) -> dict[str, Any]:
    """The graph's body; a document may consist of just that."""
    body: dict[str, Any] = document.get("graph", document)
    return body


def structure_in(document: dict[str, Any]) -> dict[str, Any]:
    """The part of a graph's body that no fork may change."""
    body = body_of(document)
    nodes = [
        {key: value for key, value in node.items() if key != "config"} for node in body["nodes"]
    ]
    return {**{key: body[key] for key in body if key not in (LOOPS, *CONTRACT)}, "nodes": nodes}


def change_body(body: dict[str, Any], path: str, value: Any) -> None:
    """Set a value at a path of a graph's body; raises CallError where a fork may change nothing."""
    kind, _, rest = path.partition(".")
    if kind == NODES:
        _change_node(body["nodes"], rest, value)
    elif kind == LOOPS:
        _change_loop(body, rest, value)
    elif rest:
        section = body.get(kind)
        body[kind] = _changed(section if isinstance(section, dict) else {}, rest, value)
    else:
        body[kind] = value


def _change_node(nodes: list[dict[str, Any]], path: str, value: Any) -> None:
    ids = [str(node["id"]) for node in nodes]
    found = _longest(ids, path)
    if found is None:
        raise CallError(f"nodes.{path} names no node; the nodes are {', '.join(ids)}")
    rest = path.removeprefix(f"{found}.")
    if rest.partition(".")[0] != "config":
        raise CallError(f"a fork can change a node's config, not nodes.{path}")
    node = nodes[ids.index(found)]
    node.update(_changed(node, rest, value))


def _change_loop(body: dict[str, Any], path: str, value: Any) -> None:
    ids = [str(node["id"]) for node in body["nodes"]]
    head = _longest(ids, path)
    if head is None:
        raise CallError(f"loops.{path} names no loop; write loops.HEAD.KEY, as max_rounds")
    loops = body.setdefault(LOOPS, {})
    loops[head] = _changed(loops.get(head) or {}, path.removeprefix(f"{head}."), value)


def _longest(ids: Iterable[str], path: str) -> str | None:
    """The id that a path begins with; ids may have dots in them."""
    return max((name for name in ids if path.startswith(f"{name}.")), key=len, default=None)


def _changed(section: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a section with another value at a path."""
    key, _, rest = path.partition(".")
    if not rest:
        return {**section, key: value}
    inner = section.get(key)
    return {**section, key: _changed(inner if isinstance(inner, dict) else {}, rest, value)}
