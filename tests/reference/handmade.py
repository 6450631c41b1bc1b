"""Short words for graphs made by hand, and for what their runs show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.reference.interpreter import interpret
from tests.reference.run import Run

AGAIN = {"type": "keyword", "config": {"any": ["again"]}}
DONE = {"type": "keyword", "config": {"any": ["done"]}}


def script(*outputs: list[Any], **fields: Any) -> dict[str, Any]:
    return {"type": "script", "config": {"outputs": list(outputs)}, **fields}


def plain(**fields: Any) -> dict[str, Any]:
    return {"type": "passthrough", "config": {}, **fields}


def every(**fields: Any) -> dict[str, Any]:
    return {"type": "passthrough", "config": {"only_last_message": False}, **fields}


def counter(most: int, message: str = "enough") -> dict[str, Any]:
    return {"type": "loop_counter", "config": {"max_iterations": most, "message": message}}


def judge(**config: Any) -> dict[str, Any]:
    return {"type": "loop", "config": config}


def human() -> dict[str, Any]:
    return {"type": "human", "config": {}}


Arrow = tuple[str, str] | tuple[str, str, dict[str, Any]]


def body(nodes: dict[str, dict[str, Any]], edges: Sequence[Arrow], **fields: Any) -> dict[str, Any]:
    return {
        "id": "g",
        "nodes": [{"id": node_id, **node} for node_id, node in nodes.items()],
        "edges": [{"from": e[0], "to": e[1], **(e[2] if len(e) == 3 else {})} for e in edges],
        **fields,
    }


def run_graph(
    nodes: dict[str, dict[str, Any]],
    edges: Sequence[Arrow],
    answers: list[str] | None = None,
    decisions: dict[str, list[str]] | None = None,
    **fields: Any,
) -> Run:
    return interpret({"graph": body(nodes, edges, **fields)}, "task", answers or [], decisions)


def counts(run: Run) -> dict[str, int]:
    return {name: len(executions) for name, executions in run.executions.items()}


def seen(run: Run, node_id: str) -> list[list[tuple[str, str]]]:
    return [execution.inputs for execution in run.executions[node_id]]


def ends(run: Run) -> list[tuple[str, int, str, bool]]:
    return [(loop.head, loop.rounds, loop.reason, loop.bounded) for loop in run.loops]


def texts_seen(run: Run, node_id: str) -> list[list[str]]:
    return [[text for _, text in inputs] for inputs in seen(run, node_id)]


NEVER = {"condition": False}


def said(text: str, score: Any = None, **fields: Any) -> dict[str, Any]:
    return {"content": text, "data": {} if score is None else {"score": score}, **fields}


def drafts(*scores: Any) -> dict[str, Any]:
    """A critic whose n-th output is `draft n` with the n-th score; None for no score."""
    return script(*[[said(f"draft {n}", score)] for n, score in enumerate(scores, 1)])


def scored(
    *scores: Any,
    exits: list[Arrow] | None = None,
    back: dict[str, Any] | None = None,
    decisions: list[str] | None = None,
    nodes: dict[str, dict[str, Any]] | None = None,
    **contract: Any,
) -> Run:
    """`write` and `critic` go round until the contract ends them; the only exit never fires."""
    known = {"write": script(["text"]), "critic": drafts(*scores)}
    known |= {"end": every(), "other": every()}
    edges: list[Arrow] = [("write", "critic"), ("critic", "write", back or {})]
    return run_graph(
        known | (nodes or {}),
        [*edges, *(exits or [("critic", "end", NEVER)])],
        decisions={"write": decisions or []},
        start="write",
        end=["end", "other"],
        loops={"write": contract},
    )
