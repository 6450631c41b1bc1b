"""The graphs of sessions, given by callers or read from rows; each is bound once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from cachetools import LRUCache

from rondel.engine.protocols import Middleware
from rondel.engine.registry import Registry
from rondel.engine.shell.binding import Binding
from rondel.errors import CallError, GraphError
from rondel.graph.plan import Plan
from rondel.graph.secrets import Stored, Values
from rondel.graph.variables import surroundings
from rondel.guards.memory import MemoryGuard, promoted_nodes
from rondel.journal.attachments import Attachments
from rondel.journal.store import SessionRow, Store
from rondel.journal.working_memory import WorkingMemory
from rondel.sessions.fingerprints import FUNCTIONS, check_code
from rondel.sessions.graph import Graph
from rondel.sessions.labels import CODE, labels_of, without_code
from rondel.sessions.permissions import Permissions

Environs = Callable[[Mapping[str, Any]], Mapping[str, str]]
"""By the labels of a session, what the variables of its graph stand for."""

COPIES = 32
"""How many graphs read from rows are kept; of those with the same id, the last."""


class _Copy(NamedTuple):
    stored: Stored
    graph: Graph
    plan: Plan

    def is_of(self, stored: Stored, environ: Mapping[str, str] | None) -> bool:
        """Whether this copy was read from the same document."""
        if self.graph.plan() is not self.plan or self.stored != stored:
            return False
        now = surroundings(environ)
        return all(now.get(name) == value for name, value in self.graph.environment.items())


@dataclass(slots=True)
class _Bound:
    """A bound graph, and the labels of its sessions once one is started."""

    binding: Binding
    labels: dict[str, Any] | None = None


class GraphCache:
    """Gives the bound graph of a session; sessions of one graph share it."""

    def __init__(
        self,
        store: Store,
        attachments: Attachments,
        registry: Registry | None,
        permissions: Permissions,
        middleware: Sequence[Middleware],
    ) -> None:
        self.environs: Environs | None = None
        """What variables come from; None is the environment of the process."""
        self._store = store
        self._attachments = attachments
        self._registry = registry
        self._permissions = permissions
        self._middleware = tuple(middleware)
        self._bound: WeakKeyDictionary[Graph, _Bound] = WeakKeyDictionary()
        self._handed_over: dict[str, Graph] = {}
        """Graphs that the store does not keep completely, by session."""
        self._secrets: dict[str, Mapping[str, Values]] = {}
        self._graphs: LRUCache[str, _Copy] = LRUCache(COPIES)
        self._outlines: LRUCache[str, _Copy] = LRUCache(COPIES)

    def keep(self, id: str, graph: Graph) -> None:
        """Keep a session's graph if the store does not keep all of it."""
        if graph.is_python:
            self._handed_over[id] = graph
        if graph.stored.secrets:
            self._secrets[id] = graph.stored.secrets

    def hand_over(self, id: str, graph: Graph) -> None:
        """Use this graph for the session from now on."""
        self._handed_over[id] = graph

    def at_hand(self, row: SessionRow) -> Graph | None:
        """The session's graph if it is in memory, else None."""
        handed_over = self._handed_over.get(row.id)
        return handed_over or _found(self._graphs, row, self._stored(row), self._environ(row))

    def graph(self, row: SessionRow) -> Graph:
        """The session's graph, ready to run; raises CallError if functions or keys are missing."""
        found = self.at_hand(row)
        if found is not None:
            return found
        if row.labels.get("python"):
            raise CallError(
                f"session {row.id} runs a graph written in Python; hand it over again: "
                "engine.resume(id, graph)"
            )
        stored = self._stored(row)
        try:
            environ = self._environ(row)
            found = Graph.from_stored(stored, registry=self._registry, environ=environ)
        except GraphError as error:
            if not (missing := self._missing_secrets(row)):
                raise (without_code(row, error) or error) from None
            names = " and ".join(missing)
            raise CallError(
                f"session {row.id} needs {names}, which is never stored: set it in the "
                "environment, or hand over the graph's file again"
            ) from error
        self._graphs[row.graph_id] = _Copy(stored, found, found.plan())
        return found

    def outline(self, row: SessionRow) -> Graph:
        """The structure of its graph: enough to read the session, not to run it."""
        stored = Stored(row.document, row.includes, {})
        found = self._handed_over.get(row.id) or _found(self._outlines, row, stored)
        if found is None:
            found = Graph.outline(row.document, row.includes, registry=self._registry)
            self._outlines[row.graph_id] = _Copy(stored, found, found.plan())
        return found

    def can_run(self, row: SessionRow) -> bool:
        """Whether the functions and secrets of the session's graph are here."""
        labels, code = row.labels, "python" if self._registry is not None else CODE
        if not self._permissions.cover(labels):
            return False
        known = not (labels.get("python") or labels.get(code) or self._missing_secrets(row))
        return known or row.id in self._handed_over

    def bind(self, graph: Graph) -> Binding:
        """The graph with its processors and conditions, built once for each graph."""
        return self._bind(graph).binding

    def prepare(self, graph: Graph) -> tuple[Binding, dict[str, Any]]:
        """What a new session of the graph takes: the bound graph, and labels for its row.

        Both are made once for each graph.
        """
        bound = self._bind(graph)
        if bound.labels is None:
            bound.labels = labels_of(graph)
        return bound.binding, bound.labels

    def check_code(self, row: SessionRow, graph: Graph) -> None:
        """Warn if the session began with other functions, or raise CodeChanged if so configured."""
        strict = not self._permissions.changed_code
        if (strict or row.labels.get(FUNCTIONS)) and (now := self.prepare(graph)[1].get(FUNCTIONS)):
            check_code(row, now, strict=strict)

    def _bind(self, graph: Graph) -> _Bound:
        plan = graph.plan()
        bound = self._bound.get(graph)
        if bound is None or bound.binding.plan is not plan:
            self._permissions.demand(plan)
            memory = WorkingMemory(self._store, plan.spec.memory)
            guard = MemoryGuard(promoted_nodes(plan), memory.promote)
            serving = (self._registry or graph.registry).serving(
                memory=memory, attachments=self._attachments, **self._permissions.services
            )
            binding = graph.bind(serving, (guard, *self._middleware))
            bound = self._bound[graph] = _Bound(binding)
        return bound

    def _missing_secrets(self, row: SessionRow) -> list[str]:
        """The variables that stand for secrets of the session's graph and have no value here."""
        known = {name for values in self._secrets.get(row.id, {}).values() for name in values}
        names = row.labels.get("secrets", ())
        missing = [name for name in names if name not in known]
        if not missing:
            return []
        now = surroundings(self._environ(row))
        return [name for name in missing if now.get(name) is None]

    def _environ(self, row: SessionRow) -> Mapping[str, str] | None:
        return None if self.environs is None else self.environs(row.labels)

    def _stored(self, row: SessionRow) -> Stored:
        return Stored(row.document, row.includes, self._secrets.get(row.id, {}))


def _found(
    copies: LRUCache[str, _Copy],
    row: SessionRow,
    stored: Stored,
    environ: Mapping[str, str] | None = None,
) -> Graph | None:
    copy = copies.get(row.graph_id)
    return copy.graph if copy is not None and copy.is_of(stored, environ) else None
