"""Notes which functions a session began with, and notices when they have changed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from rondel.engine.registry import Registry
from rondel.errors import CodeChanged
from rondel.journal.store import SessionRow
from rondel.sessions.fingerprints import changed, fingerprint, incomparable
from rondel.sessions.graph import Graph

log = logging.getLogger("rondel.sessions")

FUNCTIONS = "functions"
"""The label with a fingerprint of each function that the session's graph calls."""


def fingerprints_of(graph: Graph) -> dict[str, str]:
    """The fingerprint of each function that the graph calls, by its place in the graph."""
    own = {name: fingerprint(code) for name, code in graph.code.items()}
    return own | _registered(graph.registry, graph.document)


def change_of_code(row: SessionRow, now: Mapping[str, str]) -> str:
    """A sentence that names the functions that changed since the session began; empty if none."""
    names = changed(row.labels.get(FUNCTIONS, {}), now)
    return f"{_listed(names)} changed since session {row.id} began" if names else ""


def check_code(row: SessionRow, now: Mapping[str, str], *, strict: bool) -> None:
    """Warn if a session would go on with changed functions; if `strict`, raise CodeChanged."""
    before = row.labels.get(FUNCTIONS, {})
    if change := change_of_code(row, now):
        if strict:
            raise CodeChanged(
                f"{change}; hand over the graph as it was, or go on without strict code"
            )
        log.warning("%s; it goes on with the code of now", change)
    if strict and (unknown := incomparable(before, now)):
        raise CodeChanged(
            f"session {row.id}: nobody can tell whether {_listed(unknown)} changed, because the "
            "session began with another version of Python or of Rondel; go on without strict code"
        )


def _registered(registry: Registry, document: Any) -> dict[str, str]:
    """The fingerprints of registered functions that a document names; not of Rondel's own."""
    named = set(registry.names("function")).intersection(_texts(document))
    functions = {name: registry.function_named(name) for name in sorted(named)}
    return {
        f"function {name}": fingerprint(function)
        for name, function in functions.items()
        if not str(getattr(function, "__module__", "")).startswith("rondel.")
    }


def _texts(document: Any) -> Iterator[str]:
    """Every text in a document."""
    left = [document]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
