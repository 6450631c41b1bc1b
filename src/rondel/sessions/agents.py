"""Finds the agents of a graph, also inside nodes with several, and changes their provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rondel.errors import CallError
from rondel.graph.names import Names
from rondel.graph.source import Path
from rondel.graph.spec import NodeSpec
from rondel.sessions.registry import default_registry

if TYPE_CHECKING:
    from rondel.nodes.agent import AgentConfig


AGENT = "agent"
EACH = "*"
PLACES: dict[str, tuple[Path, ...]] = {
    AGENT: ((),),
    "debate": (("agents", EACH), ("consensus", "agent")),
    "fact_check": (("agent",),),
    "vote": (("agents", EACH),),
}
"""The paths of agent configs in the config of each node type that has some."""

EMBEDDINGS: dict[str, tuple[Path, ...]] = {"memory": (("embedding",),)}
"""The paths of the configs of embedding models."""

OFFLINE = ("scripted", "simulated")
"""Providers without a network; a run on one of them uses a simulated embedding model too."""


def _provider_and_model(wanted: str) -> tuple[str, str | None]:
    """`openai:gpt-5` as a provider and a model; a provider alone keeps each agent's model."""
    provider, _, model = wanted.partition(":")
    return provider, model or None


def configs_in_document(
    body: Any, places: dict[str, tuple[Path, ...]] = PLACES
) -> Iterator[dict[str, Any]]:
    """The config of every agent of a graph's body as it is written, inline graphs included."""
    nodes = body.get("nodes") if isinstance(body, dict) else None
    for node in nodes if isinstance(nodes, list) else ():
        if not isinstance(node, dict):
            continue
        if node.get("config") is None and node.get("type") == AGENT:
            node["config"] = {}
        config = node.get("config")
        if not isinstance(config, dict):
            continue
        for place in places.get(str(node.get("type")), ()):
            yield from (each for each in _at(config, place) if isinstance(each, dict))
        for key in ("graph", "config"):
            yield from configs_in_document(config.get(key), places)


def configs_of(node: NodeSpec) -> list[AgentConfig]:
    """The agents of a node."""
    from rondel.nodes.agent import AgentConfig

    found = (each for place in PLACES.get(node.type, ()) for each in _at(node.config, place))
    return [each for each in found if isinstance(each, AgentConfig)]


def _at(value: Any, path: Path) -> Iterator[Any]:
    if not path:
        yield value
    elif path[0] == EACH:
        for each in value.values() if isinstance(value, dict) else ():
            yield from _at(each, path[1:])
    elif isinstance(value, dict):
        yield from _at(value.get(path[0]), path[1:])
    else:
        yield from _at(getattr(value, str(path[0]), None), path[1:])


def check_provider(wanted: str, where: str = "") -> None:
    """Raise CallError if there is no such provider; `PROVIDER:MODEL` names a model too."""
    provider, _ = _provider_and_model(wanted)
    known = Names(default_registry().names("provider"), what="there are")
    if provider not in known:
        raise CallError(f"{where}there is no provider {provider!r}; {known.hint(provider)}")


def replace_in_document(document: dict[str, Any], provider: str) -> None:
    """Put every agent of a document on another provider."""
    for config in configs_in_document(document.get("graph", document)):
        _replace(config, provider)
    if _provider_and_model(provider)[0] in OFFLINE:
        for config in configs_in_document(document.get("graph", document), EMBEDDINGS):
            config.clear()
            config["provider"] = "simulated"


def _replace(config: dict[str, Any], wanted: str) -> None:
    """Set another provider, and drop the address, the key and the options of the old one."""
    from rondel.nodes.agent import AgentConfig

    provider, model = _provider_and_model(wanted)
    options = default_registry().config_model("provider", provider)
    known = AgentConfig.model_fields.keys() | options.model_fields.keys()
    if config.get("provider") != provider:
        for key in [key for key in config if key not in known or key in ("base_url", "api_key")]:
            del config[key]
    config["provider"] = provider
    if model is not None:
        config["name"] = model
    config.pop("fallback", None)
    compact = config.get("compact")
    if isinstance(compact, dict) and isinstance(compact.get("agent"), dict):
        _replace(compact["agent"], wanted)
