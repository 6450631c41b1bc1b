"""What a new session is given: an id, a graph, inputs, and labels with what it needs to go on."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any

from rondel.certificate.forest import forest_of
from rondel.errors import CallError, GraphError, Unstorable
from rondel.graph.names import Names
from rondel.graph.plan import Plan
from rondel.graph.surrogates import whole
from rondel.journal.codec import decode_value, encode_value
from rondel.journal.store import SessionRow
from rondel.sessions.fingerprints import FUNCTIONS, fingerprints_of
from rondel.sessions.graph import Graph
from rondel.sessions.permissions import needs_of
from rondel.sessions.registry import default_registry

CODE = "code"
"""The label of sessions whose graph may use names of a registry of its own."""

KEYS = "keys"
"""The label of sessions that see these secrets of a server, and no other variable of it."""

DEBUG = "debug"
"""The label with the heads of the loops after whose rounds a session pauses."""

Inputs = str | dict[str, Any] | None


def new_id() -> str:
    """A new id for a session."""
    return secrets.token_hex(8)


def as_graph(graph: Graph | str | os.PathLike[str]) -> Graph:
    """A graph, or the one in a file."""
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, str | os.PathLike):
        return Graph.load(graph)
    raise CallError(f"a graph or the path of a graph file is needed, not {type(graph).__name__}")


def as_inputs(inputs: Inputs) -> dict[str, Any]:
    """The inputs as a JSON object; raises CallError if they are none."""
    if inputs is None:
        return {}
    if isinstance(inputs, str):
        return {"task": whole(inputs)}
    if isinstance(inputs, dict):
        try:
            own: dict[str, Any] = decode_value(encode_value(inputs, "the inputs"))
        except Unstorable as error:
            raise CallError(str(error)) from error
        return own
    name = type(inputs).__name__
    raise CallError(f"inputs must be a text or a JSON object, not {name}")


def labels_of(graph: Graph) -> dict[str, Any]:
    """The labels that say what a session of the graph needs to go on."""
    labels = needs_of(graph.plan())
    if graph.is_python:
        labels["python"] = True
    if graph.registry is not default_registry():
        labels[CODE] = True
    if names := graph.stored.names:
        labels["secrets"] = names
    if fingerprints := fingerprints_of(graph):
        labels[FUNCTIONS] = fingerprints
    return labels


def debugging(plan: Plan, heads: Sequence[str]) -> dict[str, Any]:
    """The label of a session that pauses after the rounds of these loops; empty without loops.

    Raises CallError for a node that heads no loop.
    """
    if not heads:
        return {}
    if isinstance(heads, str):
        raise CallError(f"debug is a list of loops; write [{heads!r}]")
    known = {plan.nodes[body.head].id for body in forest_of(plan).loops if body.head is not None}
    for head in heads:
        if head not in known:
            hint = Names(sorted(known)).hint(head) if known else "the graph has no loop"
            raise CallError(f"debug: {head!r} heads no loop; {hint}")
    return {DEBUG: list(heads)}


def without_code(row: SessionRow, error: GraphError) -> CallError | None:
    """The error for a session whose graph names functions that are not here."""
    if not row.labels.get(CODE):
        return None
    return CallError(
        f"session {row.id} runs code that is not here ({error}); hand its graph over again: "
        "engine.resume(id, graph), or name its file"
    )
