"""The composition root: which names a graph may use."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from rondel import conditions, models, nodes
from rondel.engine.registry import Registry

PLUGINS = "rondel.plugins"
"""The entry-point group: each names a function that takes the registry and adds to it."""


def builtin_registry() -> Registry:
    """The names of Rondel itself and of installed plug-ins."""
    registry = Registry()
    conditions.register(registry)
    models.register(registry)
    nodes.register_builtins(registry)
    for plugin in entry_points(group=PLUGINS):
        plugin.load()(registry)
    return registry


@cache
def default_registry() -> Registry:
    """The registry of graphs and engines that are given none of their own."""
    return builtin_registry()
