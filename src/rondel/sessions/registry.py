"""The composition root: which names a graph may use, to run, and to be read when it ran before.

Reading a session needs only the structure of its graph: functions, providers and plug-ins may be
missing then, and unknown settings are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from threading import Lock
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from rondel import conditions, models, nodes
from rondel.engine.registry import Registry
from rondel.graph.source import values_in

FUNCTION = "function"

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


_making = Lock()
_cached_registry = cache(builtin_registry)


def default_registry() -> Registry:
    """The registry of graphs and engines that are given none of their own.

    There is only one, also if several threads ask first: a graph with another is taken for one
    with functions of its own, and after a crash its sessions are not gone on with.
    """
    with _making:
        return _cached_registry()


class AuthoredNames:
    """A registry's names, where functions need not be registered: the graph holds them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def names(self, kind: str) -> Iterable[str]:
        """All names of a kind."""
        return self._registry.names(kind)

    def config_model(self, kind: str, name: str) -> type[BaseModel] | None:
        """The model of that name's config; a function's may be anything."""
        if name == FUNCTION:
            return None
        model: type[BaseModel] | None = self._registry.config_model(kind, name)
        return model


class ReadingNames:
    """A registry's names, and all names that a document uses."""

    def __init__(
        self, registry: Registry, document: Mapping[str, Any], includes: Mapping[str, Any]
    ) -> None:
        self._registry = registry
        self._types: dict[str, None] = {}
        self._functions: dict[str, None] = {}
        for part in values_in([document, *includes.values()]):
            if not isinstance(part, dict):
                continue
            kind, config = part.get("type"), part.get("config")
            if isinstance(kind, str):
                self._types[kind] = None
            if kind == FUNCTION and isinstance(config, dict):
                self._functions[str(config.get("name"))] = None

    def names(self, kind: str) -> Iterable[str]:
        """The names of a kind that the registry knows, or the document uses."""
        used = self._functions if kind == FUNCTION else self._types
        return dict.fromkeys((*self._registry.names(kind), *used))

    def config_model(self, kind: str, name: str) -> type[BaseModel] | None:
        """The model of a config; unknown settings are allowed."""
        model = None if name == FUNCTION else self._registry.config_model(kind, name)
        return None if model is None else cast("type[BaseModel]", _Lenient(model))


class _Lenient:
    """A config model that leaves out settings that are wrong."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def model_validate(self, value: Any, context: Any = None) -> BaseModel:
        """The config, without the settings that are wrong here."""
        left = dict(value) if isinstance(value, dict) else {}
        while True:
            try:
                return self._model.model_validate(left, context=context)
            except ValidationError as error:
                wrong = {found["loc"][0] for found in error.errors() if found["loc"]}
                if not wrong & left.keys():
                    return self._model.model_construct(None, **left)
                left = {key: left[key] for key in left if key not in wrong}


class LenientVariables(dict[str, str]):
    """The environment, in which what is not set is an address, which will do as any text too."""

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ARG002
        return super().get(name, "http://unset")
