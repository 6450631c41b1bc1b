"""How many tokens a session will take, as far as that is known when it starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil
from typing import NamedTuple
from weakref import WeakKeyDictionary

from rondel.certificate import certify
from rondel.certificate.guaranteed import guarantee_of
from rondel.engine import ticks
from rondel.graph.plan import Plan
from rondel.journal.store import SessionRow, Store
from rondel.sessions.graph import Graph

PAST, ENOUGH = 20, 5
"""How many of the newest past sessions count, and how many there must be."""

READ = 20_000
"""The most ticks of past sessions that are read, so that a start never waits long."""

PERCENTILE = 0.95

FRESH, STALE = 1.0, 60.0
"""Seconds for which a look at past sessions holds: after a session ended here, and otherwise."""

OVER = ("completed", "bounded")


class Expected(NamedTuple):
    """A number of tokens, and its source."""

    tokens: int | None = None
    source: str = ""


UNKNOWN = Expected()


class _Known:
    """What past sessions of one graph took."""

    __slots__ = ("certified", "ended", "expected", "is_needed", "looked", "plan", "spent")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        breaker = plan.spec.breaker
        self.is_needed = (
            breaker is not None
            and breaker.estimated_tokens is None
            and any(guarantee_of(node.spec).calls.most != 0 for node in plan.nodes)
        )
        """Whether the breaker needs the figure, in a graph with models."""
        tokens = certify(plan).cost.tokens if self.is_needed else None
        self.certified = UNKNOWN if tokens is None else Expected(tokens, "from the certificate")
        self.expected = UNKNOWN
        self.looked = 0.0
        self.ended = True
        """Whether a session of this graph ended here since the last look."""
        self.spent: dict[str, int] = {}
        """The tokens of each past session."""


def past_sessions(
    store: Store, graph: Graph, most: int, counts: Callable[[SessionRow], bool] = lambda _: True
) -> list[SessionRow]:
    """The newest sessions that a graph of this structure has ended, without forks."""
    rows = [
        row
        for status in OVER
        for row in store.sessions(status, graph.id, limit=most).rows
        if counts(row) and row.parent is None and graph.has_structure_of(row.document)
    ]
    return sorted(rows, key=lambda row: row.created_at, reverse=True)[:most]


class Expectation:
    """Expects a session to take what past ones took, or else what the certificate says."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._graphs: WeakKeyDictionary[Graph, _Known] = WeakKeyDictionary()
        self.minds_the_past = True

    def of(self, graph: Graph, plan: Plan) -> Expected:
        """The expected tokens of the graph's next session; None for a graph without models or
        without a breaker that needs the figure."""
        known = self._graphs.get(graph)
        if known is None or known.plan is not plan:
            known = self._graphs[graph] = _Known(plan)
        if not known.is_needed:
            return UNKNOWN
        if self.minds_the_past and self._is_due(known):
            self._look(graph, known)
        return known.expected if known.expected.tokens else known.certified

    def ended(self, graph: Graph) -> None:
        """A session of the graph has ended here."""
        known = self._graphs.get(graph)
        if known is not None:
            known.ended = True

    def _is_due(self, known: _Known) -> bool:
        if known.ended and len(known.spent) < ENOUGH:
            return True
        return time.monotonic() - known.looked > (FRESH if known.ended else STALE)

    def _look(self, graph: Graph, known: _Known) -> None:
        """Read the tokens of the newest past sessions, each session once."""
        known.looked, known.ended = time.monotonic(), False
        before, known.spent, left = known.spent, {}, READ
        for row in past_sessions(self._store, graph, PAST):
            if row.id not in before:
                left -= row.length
                if left < 0:
                    break
                before[row.id] = self._spent(row.id)
            known.spent[row.id] = before[row.id]
        known.expected = UNKNOWN
        if len(known.spent) >= ENOUGH:
            ordered = sorted(known.spent.values())
            tokens = ordered[ceil(PERCENTILE * len(ordered)) - 1]
            known.expected = Expected(tokens, f"from {len(ordered)} past sessions")

    def _spent(self, session: str) -> int:
        return sum(
            usage.tokens
            for batch in self._store.scan(session, 0)
            for tick in batch
            if isinstance(tick, ticks.Spending)
            for usage in tick.usage
        )
