"""The graph of a request: a stored one, or one in the request."""

from __future__ import annotations

import json
from typing import Any

from rondel.errors import CallError
from rondel.graph.variables import WithSecrets
from rondel.server.access import Caller
from rondel.server.policy import demand_allowed
from rondel.server.replies import Refusal
from rondel.server.site import Site
from rondel.sessions.agents import check_provider, replace_in_document
from rondel.sessions.graph import Graph
from rondel.sessions.graphs_folder import Environ

Source = dict[str, Any] | str


def text_of(site: Site, source: Source) -> str:
    """The text of a graph in a request, if it is not too large."""
    text = source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)
    most = site.options.limits.graph
    if len(text) > most or len(text.encode("utf-8", "replace")) > most:
        raise Refusal(413, "graph_too_large", f"a graph may have {most:,} bytes; this has more")
    return text


def runnable(
    site: Site,
    caller: Caller,
    graph: Source | None,
    graph_id: str | None,
    provider: str | None = None,
    group: str | None = None,
) -> Graph:
    """The graph of a request with a group's secrets, if it may run here."""
    secrets = site.secrets.of(group)
    environ = secrets if site.needs_tokens else WithSecrets(secrets)
    found = graph_of(site, caller, graph, graph_id, provider, environ=environ)
    demand_allowed(site, caller, found, stored=graph_id is not None)
    return found


def graph_of(
    site: Site,
    caller: Caller,
    graph: Source | None,
    graph_id: str | None,
    provider: str | None = None,
    *,
    demand_secrets: bool = True,
    environ: Environ = None,
) -> Graph:
    """The graph that is meant; raises GraphError with all that is wrong with it."""
    if (graph is None) == (graph_id is None):
        raise CallError("name the graph: either `graph_id` of a stored one, or `graph` itself")
    if graph_id is not None:
        file = site.folder.get(graph_id, caller.groups)
        if provider is None:
            return site.folder.load(file, demand_secrets=demand_secrets, environ=environ)
        return with_provider(site, file.text, provider, file.name)
    assert graph is not None  # noqa: S101
    text = text_of(site, graph)
    name = site.folder.draft_name(caller.groups)
    if provider is None:
        return site.folder.loads(text, name, demand_secrets=demand_secrets, environ=environ)
    return with_provider(site, text, provider, name)


def with_provider(site: Site, text: str, provider: str, name: str) -> Graph:
    """The graph of a text with every agent on another provider."""
    check_provider(provider)

    def revise(document: dict[str, Any], _outermost: bool) -> None:
        replace_in_document(document, provider)

    return site.folder.loads(text, name, demand_secrets=False, revise=revise)
