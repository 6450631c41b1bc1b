"""A Council workflow that was a graph before: its edges stand under `x-rondel`, not in `next_ids`.

Who adds or takes away a next node there has the edge added or taken away here.
"""

from __future__ import annotations

from typing import Any

from rondel.formats.extension import EDGES, KEY
from rondel.formats.translation import Draft
from rondel.graph.source import Path


def holds_edges(extension: Any) -> bool:
    """Whether the wiring of the workflow is under the key."""
    return isinstance(extension, dict) and isinstance(extension.get(EDGES), list)


def restored_edges(
    draft: Draft, extension: dict[str, Any], nodes: dict[str, Any], made: Path
) -> list[Any]:
    """The edges as the graph had them, with what was changed in `next_ids` since."""
    follow = {name: [*_next_ids(node)] for name, node in nodes.items()}
    found: list[Any] = []
    for place, edge in enumerate(extension[EDGES]):
        origin: Path = (KEY, EDGES, place)
        if isinstance(edge, dict) and edge.get("trigger", True) and _is_gone(edge, follow):
            draft.change(origin, "next_ids of its source does not name its target any more")
            continue
        draft.moved((*made, len(found)), origin)
        found.append(edge)
    led = [(edge.get("from"), edge.get("to")) for edge in found if isinstance(edge, dict)]
    for name, targets in follow.items():
        for place, target in enumerate(targets):
            if (name, target) not in led:
                draft.moved((*made, len(found)), ("nodes", name, "next_ids", place))
                found.append({"from": name, "to": target})
    return found


def _next_ids(node: Any) -> list[Any]:
    given = node.get("next_ids") if isinstance(node, dict) else None
    return given if isinstance(given, list) else []


def _is_gone(edge: dict[str, Any], follow: dict[str, list[Any]]) -> bool:
    source = edge.get("from")
    return isinstance(source, str) and source in follow and edge.get("to") not in follow[source]
