"""What graphs may do here: which variables they may take, and where secrets may stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rondel.errors import CallError
from rondel.graph.variables import REFERENCE
from rondel.server.access import Caller
from rondel.server.addresses import demand_public_graph
from rondel.server.site import Site
from rondel.sessions.graph import Graph

PLACES = frozenset({"api_key", "base_url", "url", "env", "headers", "extra_headers"})
"""Keys under which a secret may stand: nothing that stands there is ever shown."""

AGENTS = "agents"
HOLDERS = frozenset({"graph", "nodes", "config", AGENTS, "agent", "consensus", "compact"})
HOLDERS |= {"fallback", "embedding", "tools", "mcp", "params"}
"""What these keys may stand in; elsewhere they are an author's words, as in an answer's data."""

Reference = tuple[tuple[str, ...], str]
"""Where a variable is referred to, and its name."""


def demand_allowed(site: Site, caller: Caller, graph: Graph, *, stored: bool) -> None:
    """Raise CallError for what a graph may not do on this server."""
    if not site.options.allow_private:
        demand_public_graph(graph)
    if site.needs_tokens:
        _demand_variables(caller, graph, stored=stored)


def _demand_variables(caller: Caller, graph: Graph, *, stored: bool) -> None:
    """Raise CallError unless the secrets that a graph takes stand where they may."""
    taken = set(graph.environment)
    if not taken:
        return
    if not stored and not caller.may("admin"):
        names = ", ".join(f"${{{name}}}" for name in sorted(taken))
        raise CallError(f"a graph that is not stored may not use the server's secrets: {names}")
    for document in (graph.document, *graph.includes.values()):
        _demand_places(document, taken)


def _demand_places(document: Any, taken: set[str]) -> None:
    """Secrets, and variables made of them, stand only where they are never shown."""
    if not isinstance(document, dict):
        return
    declared = document.get("vars")
    variables = declared if isinstance(declared, dict) else {}
    tainted = set(taken) - set(variables)
    while True:
        more = {
            str(name)
            for name, value in variables.items()
            if name not in tainted and any(ref in tainted for _, ref in references(value, ()))
        }
        if not more:
            break
        tainted |= more
    body = {key: value for key, value in document.items() if key != "vars"}
    for path, name in references(body, ()):
        if name in tainted and not _is_place(path):
            raise CallError(
                f"${{{name}}} stands at {'.'.join(path)}, where it would be shown; a secret may "
                "stand in api_key, base_url, url, env and headers"
            )


def _is_place(path: tuple[str, ...]) -> bool:
    """Whether a secret may stand at a path of a document."""
    for number, key in enumerate(path):
        if key in PLACES:
            return True
        if key not in HOLDERS and path[number - 1 : number] != (AGENTS,):
            return False
    return False


def references(value: Any, path: tuple[str, ...]) -> Iterator[Reference]:
    """Every reference to a variable in a document."""
    stack: list[tuple[Any, tuple[str, ...]]] = [(value, path)]
    while stack:
        current, place = stack.pop()
        if isinstance(current, str):
            for found in REFERENCE.finditer(current):
                if found[1]:
                    yield place, found[1]
        elif isinstance(current, dict):
            for key, inner in current.items():
                stack.append((inner, (*place, str(key))))
                stack.append((key, (*place, str(key))))
        elif isinstance(current, list):
            stack += [(inner, place) for inner in current]
