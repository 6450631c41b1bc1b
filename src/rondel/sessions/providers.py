"""Another provider for all agents of a graph: simulated models before real ones."""

from __future__ import annotations

from typing import Any

from rondel.errors import CallError
from rondel.graph.names import Names
from rondel.sessions.agents import configs_in_document, with_provider
from rondel.sessions.graph import Graph
from rondel.sessions.registry import default_registry


def check_provider(provider: str, where: str = "") -> None:
    """Raise CallError if there is no such provider."""
    known = Names(default_registry().names("provider"), what="there are")
    if provider not in known:
        raise CallError(f"{where}there is no provider {provider!r}; {known.hint(provider)}")


def replace_in_document(document: dict[str, Any], provider: str) -> None:
    """Put every agent of a document on another provider."""
    for config in configs_in_document(document.get("graph", document)):
        _replace(config, provider)


def replace_in_files(graph: Graph, provider: str) -> None:
    """The same for agents of graph files that the graph names: in its plan, and in the copies of
    these files that a session keeps.
    """
    for document in graph.includes.values():
        replace_in_document(document, provider)
    for node in graph.plan().nodes:
        node.spec = with_provider(node.spec, provider)


def _replace(config: dict[str, Any], provider: str) -> None:
    """Another provider, without the address, the key and the options of the old one."""
    from rondel.nodes.agent import AgentConfig

    options = default_registry().config_model("provider", provider)
    known = AgentConfig.model_fields.keys() | options.model_fields.keys()
    if config.get("provider") != provider:
        for key in [key for key in config if key not in known or key in ("base_url", "api_key")]:
            del config[key]
    config["provider"] = provider
    config.pop("fallback", None)
