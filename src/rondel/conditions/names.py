"""Names in a config that a registry must know."""

from __future__ import annotations

from collections.abc import Callable

from rondel.engine.registry import Registry
from rondel.graph.names import Names

CONDITIONS, PROCESSORS = "edge/", "edge_processor/"
"""What stands before the name of a function that only conditions, or only processes, mean."""


def registered(registry: Registry, kind: str) -> Callable[[str], str]:
    """A validator that lets only names pass that `registry` knows when it is asked."""

    def check(name: str) -> str:
        names = Names(registry.names(kind), what="registered")
        if name not in names:
            hint = names.hint(name)
            looked = "" if hint.startswith("did you mean") else _looked(registry, kind)
            raise ValueError(f"there is no {kind} named {name!r}{looked}; {hint}")
        return name

    return check


def _looked(registry: Registry, kind: str) -> str:
    """Where names of that kind were looked for, besides plug-ins."""
    if kind != "function":
        return ""
    places = registry.sources(kind)
    return f" in {' or '.join(places)}" if places else ", and no --functions DIR was given"
