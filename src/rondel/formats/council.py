"""Council: its JSON as a graph document.

There the engine hands one shared state from node to node: the document, what agents said of it,
the score. Here messages do that, so the translation adds the edges along which they travel.
"""

from __future__ import annotations

from typing import Any

from rondel.formats.council_nodes import TYPES, VOTERS, node_of
from rondel.formats.council_wiring import Wiring
from rondel.formats.extension import DOCUMENT, EDGES, KEY, STAND_IN, extended
from rondel.formats.translation import Draft, Translation
from rondel.graph.names import Names
from rondel.graph.positions import Parsed
from rondel.graph.source import Path

TOP = ("start_node_id", "nodes", "workflow_uuid", "workflow_id", "id", "name", "description")
NODE = ("node_id", "id", "type", "name", "next_ids", "properties")
PLAIN = {"type": "parallel"}
LABELS = {"loop": ("continue", "exit"), "vote": ("pass", "reject")}
"""Node types that choose among their edges, and the labels of these."""


def translate(parsed: Parsed, file: str) -> Translation:
    """The graph document of a Council workflow."""
    draft = Draft(parsed, file)
    data = parsed.data
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), dict):
        message = "there are no 'nodes', a mapping of ids to nodes"
        draft.refuse((), message, "is this a workflow of Council?")
        return draft.give_up()
    kept = draft.kept(data, (), (*TOP, KEY))
    extension = kept.pop(KEY, None)
    nodes = {name: _node(draft, name, node) for name, node in kept["nodes"].items()}
    start = _start(draft, kept.get("start_node_id"), nodes)
    graph: dict[str, Any] = {
        "id": _text(kept, "workflow_id", "id", "name", "workflow_uuid") or "council",
        "description": _text(kept, "description", "name"),
        "start": [start],
        "end": [name for name, node in nodes.items() if node["type"] == "end"],
        "nodes": [],
        "edges": [],
    }
    if _holds_edges(extension):
        _restore(draft, graph, nodes, extension)
    else:
        _wire(draft, graph, nodes, start)
    draft.moved(("graph", "start", 0), ("start_node_id",))
    draft.moved(("graph",), ())
    made = {key: value for key, value in graph.items() if value}
    document = extension.get(DOCUMENT) if isinstance(extension, dict) else None
    apart = document if isinstance(document, dict) else {}
    body = extended(draft, made, extension, (), ("graph",))
    return draft.finish({"version": 1, **apart, "graph": body})


def _wire(draft: Draft, graph: dict[str, Any], nodes: dict[str, Any], start: str) -> None:
    """Add the nodes, and the edges that the shared state needs besides those of the file."""
    wiring = _wired(draft, start, nodes)
    for name, node in nodes.items():
        polled = _with_voters(draft, name, node, nodes, wiring)
        _add_node(draft, graph, name, _with_exit(polled, wiring.ended_by.get(name)))
    graph["nodes"] += wiring.helpers
    for place, wired in enumerate(wiring.edges):
        draft.moved(("graph", "edges", place), wired.origin)
        graph["edges"].append(wired.edge)


def _restore(
    draft: Draft, graph: dict[str, Any], nodes: dict[str, Any], extension: dict[str, Any]
) -> None:
    """Add the nodes and edges of a workflow that was a graph before."""
    own = {name: node for name, node in nodes.items() if not _stands_in(node)}
    for name, node in own.items():
        _add_node(draft, graph, name, node)
    graph["edges"] = _restored_edges(draft, extension, own, ("graph", "edges"))


def _stands_in(node: dict[str, Any]) -> bool:
    extension = node.get(KEY)
    return isinstance(extension, dict) and extension.get(STAND_IN) is True


def _node(draft: Draft, name: str, node: Any) -> dict[str, Any]:
    """A node; a wrong one is reported, and a stand-in returned."""
    path: Path = ("nodes", name)
    if not isinstance(node, dict):
        draft.refuse(path, f"the node {name!r} is not a mapping", "give it a type and next_ids")
        return dict(PLAIN)
    type_ = node.get("type")
    if not isinstance(type_, str) or type_ not in TYPES:
        hint = Names(TYPES, what="there are").hint(str(type_))
        draft.refuse((*path, "type"), f"the node type {type_!r} has no counterpart", hint)
        return {**PLAIN, "next_ids": node.get("next_ids")}
    return node


def _start(draft: Draft, start: Any, nodes: dict[str, Any]) -> str:
    """The start node; a missing one is reported, and another returned."""
    if isinstance(start, str) and start in nodes:
        return start
    hint = Names(nodes, what="there are").hint(str(start))
    draft.refuse(("start_node_id",), f"there is no start node {start!r}", hint)
    return next(iter(nodes), "")


def _wired(draft: Draft, start: str, nodes: dict[str, Any]) -> Wiring:
    """The edges as the nodes name them, then those that the shared state needs."""
    wiring = Wiring(start, {name: node["type"] for name, node in nodes.items()})
    wiring.all_follow |= {name for name, node in nodes.items() if not _chooses(node)}
    wiring.with_goals |= {name for name, node in nodes.items() if _has_goal(node)}
    for name, node in nodes.items():
        next_ids = _next_ids(draft, name, node)
        for place, target in enumerate(next_ids):
            origin: Path = ("nodes", name, "next_ids", place)
            if not isinstance(target, str) or target not in nodes:
                hint = Names(nodes, what="there are").hint(str(target))
                draft.refuse(origin, f"there is no node {target!r}", hint)
            else:
                labels = LABELS.get(node["type"], ()) if _chooses(node) else ()
                label = labels[place] if place < len(labels) and len(next_ids) > 1 else ""
                wiring.lead(name, target, origin, label)
    for told in (*wiring.share_state(), *wiring.spread()):
        draft.change(("nodes", told.node), told.message)
    return wiring


def _with_voters(
    draft: Draft, name: str, node: dict[str, Any], nodes: dict[str, Any], wiring: Wiring
) -> dict[str, Any]:
    """A vote that names nobody polls the agents before it."""
    properties = node.get("properties") or {}
    if node["type"] != "vote" or _names_voters(node) or not isinstance(properties, dict):
        return node
    before = wiring.agents_before(name)
    voters = {
        each: {"role": f"You are {nodes[each].get('name') or each}.", **_settings(nodes[each])}
        for each in before
    }
    if not voters:
        return node
    draft.change(("nodes", name), f"it polls the agents before it: {', '.join(voters)}")
    return {**node, "properties": {**properties, "agents": voters}}


def _with_exit(node: dict[str, Any], action: str | None) -> dict[str, Any]:
    """A loop that its reviewer can end by saying so."""
    if action is None:
        return node
    given = _settings(node).get("exit_condition")
    said = f'has(data.action) && data.action == "{action}"'
    condition = said if given in (None, "", "max_rounds") else f"({said}) || {_goal(given)}"
    return {**node, "properties": {**_settings(node), "exit_condition": condition}}


def _goal(condition: Any) -> str:
    if condition != "consensus":
        return f"({condition})"
    told = ("data.consensus", "data.consensus_reached")
    return " || ".join(f"(has({each}) && {each} == true)" for each in told)


def _has_goal(node: dict[str, Any]) -> bool:
    settings = _settings(node) if node["type"] == "loop" else {}
    goals = (settings.get("exit_on_score"), settings.get("exit_condition"))
    return any(goal not in (None, 0, "", "max_rounds") for goal in goals)


def _settings(node: dict[str, Any]) -> dict[str, Any]:
    properties = node.get("properties")
    return properties if isinstance(properties, dict) else {}


def _names_voters(node: dict[str, Any]) -> bool:
    return any(_settings(node).get(key) for key in VOTERS)


def _chooses(node: dict[str, Any]) -> bool:
    """Whether the node chooses among its next ones; a vote that names nobody does not."""
    return node["type"] == "loop" or (node["type"] == "vote" and _names_voters(node))


def _next_ids(draft: Draft, name: str, node: dict[str, Any]) -> list[Any]:
    next_ids = node.get("next_ids")
    if next_ids is None or isinstance(next_ids, list):
        return next_ids or []
    hint = 'write it as ["first", "second"]'
    draft.refuse(("nodes", name, "next_ids"), "next_ids is not a list of nodes", hint)
    return []


def _add_node(draft: Draft, graph: dict[str, Any], name: str, node: dict[str, Any]) -> None:
    path: Path = ("nodes", name)
    native: Path = ("graph", "nodes", len(graph["nodes"]))
    kept = draft.kept(node, path, (*NODE, KEY))
    draft.moved(native, path)
    draft.moved((*native, "config"), (*path, "properties"))
    made = node_of(draft, name, kept, path)
    graph["nodes"].append(extended(draft, made, kept.get(KEY), path, native))


def _text(data: dict[str, Any], *keys: str) -> str:
    """The first of these keys that holds a text."""
    return next((data[key] for key in keys if isinstance(data.get(key), str) and data[key]), "")


def _holds_edges(extension: Any) -> bool:
    """Whether the workflow was a graph before: its edges stand under the key, not in `next_ids`."""
    return isinstance(extension, dict) and isinstance(extension.get(EDGES), list)


def _restored_edges(
    draft: Draft, extension: dict[str, Any], nodes: dict[str, Any], made: Path
) -> list[Any]:
    """The edges as the graph had them, with what was changed in `next_ids` since."""
    follow = {name: [*_next_of(node)] for name, node in nodes.items()}
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


def _next_of(node: Any) -> list[Any]:
    given = node.get("next_ids") if isinstance(node, dict) else None
    return given if isinstance(given, list) else []


def _is_gone(edge: dict[str, Any], follow: dict[str, list[Any]]) -> bool:
    source = edge.get("from")
    return isinstance(source, str) and source in follow and edge.get("to") not in follow[source]
