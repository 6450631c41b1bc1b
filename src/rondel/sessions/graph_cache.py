"""The graphs of sessions: those that were handed over, and those read from rows, each once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from cachetools import LRUCache

from rondel.engine.registry import Registry
from rondel.graph.plan import Plan
from rondel.graph.secrets import Values
from rondel.journal.store import SessionRow
from rondel.sessions.graph import Graph, Stored

COPIES = 32
"""How many graphs are kept that were read; of those with one id the one that was read last."""


class _Copy(NamedTuple):
    stored: Stored
    graph: Graph
    plan: Plan

    def is_of(self, stored: Stored) -> bool:
        """Whether reading it again would give the same graph."""
        if self.graph.plan() is not self.plan or self.stored != stored:
            return False
        taken = self.graph.environment
        return all(os.environ.get(name) == value for name, value in taken.items())


class GraphCache:
    """Hands out the graph of a session; sessions of the same graph share it."""

    def __init__(self, registry: Registry | None) -> None:
        self._registry = registry
        self._handed_over: dict[str, Graph] = {}
        """Graphs of which the store does not keep all, by session."""
        self._secrets: dict[str, Mapping[str, Values]] = {}
        self._graphs: LRUCache[str, _Copy] = LRUCache(COPIES)
        self._outlines: LRUCache[str, _Copy] = LRUCache(COPIES)

    def keep(self, id: str, graph: Graph) -> None:
        """Remember what the store does not keep of a session's graph."""
        if graph.is_python:
            self._handed_over[id] = graph
        if graph.stored.secrets:
            self._secrets[id] = graph.stored.secrets

    def hand_over(self, id: str, graph: Graph) -> None:
        """Use this graph for the session from now on."""
        self._handed_over[id] = graph

    def is_handed_over(self, id: str) -> bool:
        """Whether the session's graph need not be read from its row."""
        return id in self._handed_over

    def secrets_of(self, id: str) -> set[str]:
        """The variables that stand for the secrets known of the session's graph."""
        return {name for values in self._secrets.get(id, {}).values() for name in values}

    def at_hand(self, row: SessionRow) -> Graph | None:
        """The session's graph, unless it would have to be read first."""
        return self._handed_over.get(row.id) or _found(self._graphs, row, self._stored(row))

    def graph(self, row: SessionRow) -> Graph:
        """The session's graph with all that it takes to run it."""
        found = self.at_hand(row)
        if found is None:
            stored = self._stored(row)
            found = Graph.from_stored(stored, registry=self._registry)
            self._graphs[row.graph_id] = _Copy(stored, found, found.plan())
        return found

    def outline(self, row: SessionRow) -> Graph:
        """Its structure: enough to read the session, not to run it."""
        stored = Stored(row.document, row.includes, {})
        found = self._handed_over.get(row.id) or _found(self._outlines, row, stored)
        if found is None:
            found = Graph.outline(row.document, row.includes, registry=self._registry)
            self._outlines[row.graph_id] = _Copy(stored, found, found.plan())
        return found

    def _stored(self, row: SessionRow) -> Stored:
        return Stored(row.document, row.includes, self._secrets.get(row.id, {}))


def _found(copies: LRUCache[str, _Copy], row: SessionRow, stored: Stored) -> Graph | None:
    copy = copies.get(row.graph_id)
    return copy.graph if copy is not None and copy.is_of(stored) else None
