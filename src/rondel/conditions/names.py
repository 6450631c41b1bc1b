"""Validators for names in a config that a registry must know."""

from __future__ import annotations

from collections.abc import Callable

from rondel.engine.registry import Registry
from rondel.graph.names import Names

CONDITIONS, PROCESSORS = "edge/", "edge_processor/"
"""Prefixes of the names of functions that are only for conditions, or only for processes."""


def registered(registry: Registry, kind: str) -> Callable[[str], str]:
    """A validator that accepts the names that `registry` knows at that moment."""

    def check(name: str) -> str:
        names = Names(registry.names(kind), what="registered")
        if name not in names:
            hint = names.hint(name)
            looked = _looked(registry, kind, guess=hint.startswith("did you mean"))
            raise ValueError(f"there is no {kind} named {name!r}{looked}; {hint}")
        return name

    return check


def _looked(registry: Registry, kind: str, *, guess: bool) -> str:
    """Where names of that kind are looked for, besides plug-ins; a `guess` may say enough."""
    if kind != "function":
        return ""
    if places := registry.sources(kind):
        return f" in {' or '.join(places)}"
    return "" if guess else ", and no --functions DIR was given"
