"""What can be named in a graph: node types, conditions, processes, functions, providers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rondel.errors import CallError


@dataclass(frozen=True, slots=True)
class Registered:
    """A name's config model and the builder that makes the working thing from a valid config."""

    config: Any
    build: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Absent:
    """A name that a module adds once it is imported, which happens when it is first looked up."""

    module: str


class Registry:
    """Names by kind; filled by `register` functions, never on import."""

    KINDS = (
        "node",
        "condition",
        "process",
        "function",
        "provider",
        "embedder",
        "contract",
        "split",
    )

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Registered | Absent]] = {kind: {} for kind in self.KINDS}
        self._services: dict[str, Any] = {}
        self._builders: dict[str, Callable[[Any, Registry], Any]] = {}
        self._home = self
        """Where names are added to: modules that arrive late must not see a copy's services."""
        self._promised: dict[tuple[str, str], str] = {}
        """The modules of names that arrive late."""
        self._sources: dict[str, list[str]] = {}
        """By kind, the places from which names were added."""

    def node(self, name: str, config: Any, build: Callable[[Any, Registry], Any]) -> None:
        """Register a node type: `build(config, registry)` returns its Processor."""
        self._add("node", name, Registered(config, build))

    def condition(self, name: str, config: Any, build: Callable[[Any, Registry], Any]) -> None:
        """Register a condition type: `build(config, registry)` returns a Condition."""
        self._add("condition", name, Registered(config, build))

    def process(self, name: str, config: Any, build: Callable[[Any, Registry], Any]) -> None:
        """Register an edge process: `build(config, registry)` returns a Process."""
        self._add("process", name, Registered(config, build))

    def provider(self, name: str, config: Any, build: Callable[[Any, Registry], Any]) -> None:
        """Register a provider of language models: `build(config, registry)` returns a Model."""
        self._add("provider", name, Registered(config, build))

    def embedder(self, name: str, config: Any, build: Callable[[Any, Registry], Any]) -> None:
        """Register a provider of embeddings: `build(config, registry)` returns an Embedder."""
        self._add("embedder", name, Registered(config, build))

    def contract(self, name: str, config: Any, build: Callable[[Any, Registry], Any]) -> None:
        """Register an `until` of loop contracts: `build(config, registry)` returns an Until."""
        self._add("contract", name, Registered(config, build))

    def split(self, name: str, config: Any, build: Callable[[Any, Registry], Any]) -> None:
        """Register a way to split messages: `build(config, registry)` returns a Split."""
        self._add("split", name, Registered(config, build))

    def function(self, name: str, function: Callable[..., Any]) -> None:
        """Register a function that graphs may name."""
        self._add("function", name, Registered(None, function))

    def note_source(self, kind: str, place: str) -> None:
        """Remember that names of a kind were added from there, to tell where one is missing."""
        self._sources.setdefault(kind, []).append(place)

    def sources(self, kind: str) -> list[str]:
        """Those places."""
        return self._sources.get(kind, [])

    def later(self, kind: str, module: str, *names: str) -> None:
        """Know these names now; the module's `register` adds them when one is looked up."""
        for name in names:
            self._add(kind, name, Absent(module))
            self._promised[kind, name] = module

    def serving(self, **services: Any) -> Registry:
        """A registry of the same names, now and later, that also knows these services."""
        serving = self._copy()
        serving._services = {**self._services, **services}
        return serving

    def replacing(self, kind: str, build: Callable[[Any, Registry], Any]) -> Registry:
        """A registry of the same names, in which everything of a kind is built by `build`."""
        replaced = self._copy()
        replaced._builders = {**self._builders, kind: build}
        return replaced

    def service(self, name: str) -> Any:
        """What the engine around the graph provides under that name; ask when it is needed."""
        try:
            return self._services[name]
        except KeyError:
            raise CallError(f"there is no {name} here; run the graph with an Engine") from None

    def names(self, kind: str) -> Iterable[str]:
        """All names of a kind, in the order they were registered."""
        return self._entries[kind].keys()

    def config_model(self, kind: str, name: str) -> Any:
        """The model of that name's config, or None if the name is unknown."""
        return self._entry(kind, name).config if name in self._entries[kind] else None

    def build(self, kind: str, name: str, config: Any) -> Any:
        """The working thing of that name."""
        entry = self._entry(kind, name)
        build: Callable[..., Any] = self._builders.get(kind) or entry.build
        return build(config, self)

    def function_named(self, name: str) -> Callable[..., Any]:
        """The registered function of that name."""
        return self._entry("function", name).build

    def _entry(self, kind: str, name: str) -> Registered:
        entry = self._entries[kind].get(name)
        if isinstance(entry, Registered):
            return entry
        if entry is None:
            known = ", ".join(self._entries[kind]) or "none"
            raise CallError(f"there is no {kind} named {name!r}; registered: {known}")
        register: Callable[[Registry], None] = import_module(entry.module).register
        register(self._home)
        arrived = self._entries[kind][name]
        if isinstance(arrived, Absent):
            raise CallError(f"{entry.module} does not register the {kind} {name!r}; it should")
        return arrived

    def _add(self, kind: str, name: str, entry: Registered | Absent) -> None:
        if name in self._entries[kind] and not self._is_of_promised_module(kind, name, entry):
            raise CallError(f"the {kind} {name!r} is registered already")
        self._entries[kind][name] = entry

    def _is_of_promised_module(self, kind: str, name: str, entry: Registered | Absent) -> bool:
        """Whether the entry is of the module that was to add it; two threads may let it do so."""
        if isinstance(entry, Absent):
            return False
        return self._promised.get((kind, name)) == getattr(entry.build, "__module__", "")

    def _copy(self) -> Registry:
        copy = Registry()
        copy._entries, copy._services = self._entries, self._services
        copy._builders, copy._home, copy._promised = self._builders, self._home, self._promised
        copy._sources = self._sources
        return copy
