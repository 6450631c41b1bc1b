"""Names in a config that a registry must know."""

from __future__ import annotations

from collections.abc import Callable

from rondel.engine.registry import Registry
from rondel.graph.names import Names


def registered(registry: Registry, kind: str) -> Callable[[str], str]:
    """A validator that lets only names pass that `registry` knows when it is asked."""

    def check(name: str) -> str:
        names = Names(registry.names(kind), what="registered")
        if name not in names:
            raise ValueError(f"there is no {kind} named {name!r}; {names.hint(name)}")
        return name

    return check
