"""Small graphs with a loop, on scripted models."""

from __future__ import annotations

import json
from typing import Any

from rondel import Graph
from rondel.engine.registry import Registry

Answers = list[Any]


def scripted(*answers: Any, **more: Any) -> dict[str, Any]:
    return {"provider": "scripted", "answers": list(answers), **more}


def agent(id: str, *answers: Any, **fields: Any) -> dict[str, Any]:
    return {"id": id, "type": "agent", "config": scripted(*answers), **fields}


def graph_of(
    nodes: list[dict[str, Any]],
    edges: list[tuple[str, str]],
    *,
    start: str = "",
    registry: Registry | None = None,
    **body: Any,
) -> Graph:
    """A graph in which an edge to Done is taken by a contract alone."""
    wired = [
        {"from": a, "to": b, **({"condition": False} if b == "Done" else {})} for a, b in edges
    ]
    done = {"id": "Done", "type": "passthrough"}
    document = {
        "graph": {
            "id": "looping",
            "start": start or nodes[0]["id"],
            "end": "Done",
            "nodes": [*nodes, done],
            "edges": wired,
            **body,
        }
    }
    return Graph.loads(json.dumps(document), registry=registry)


def alone(*answers: Any, rounds: int | None = None, **fields: Any) -> Graph:
    """An agent that answers itself."""
    return graph_of(
        [agent("Worker", *answers, **fields)],
        [("Worker", "Worker"), ("Worker", "Done")],
        loops={"Worker": {"max_rounds": rounds or len(answers)}},
    )


def reviewed(writer: Answers, critic: Answers, rounds: int = 0, **contract: Any) -> Graph:
    """A writer and a critic in turns."""
    return graph_of(
        [agent("Writer", *writer), agent("Critic", *critic)],
        [("Writer", "Critic"), ("Critic", "Writer"), ("Critic", "Done")],
        loops={"Writer": {"max_rounds": rounds or len(writer), **contract}},
    )


def judged(type: str, config: dict[str, Any], writer: Answers, rounds: int = 0) -> Graph:
    """A writer and a node of another type that never lets it pass."""
    return graph_of(
        [agent("Writer", *writer), {"id": "Judge", "type": type, "config": config}],
        [("Writer", "Judge"), ("Judge", "Done"), ("Judge", "Writer")],
        loops={"Writer": {"max_rounds": rounds or len(writer)}},
    )


def chapters(checker: Answers, chapters: int, inner_rounds: int = 1) -> Graph:
    """An outer loop over chapters, and in each a checker in a loop of its own."""
    return graph_of(
        [
            agent(
                "Author",
                *(f"Chapter {n}: {word}." for n, word in zip("123456", WORDS, strict=False)),
            ),
            agent("Checker", *checker),
            {"id": "GraphCache", "type": "passthrough"},
        ],
        [
            ("Author", "Checker"),
            ("Checker", "Checker"),
            ("Checker", "GraphCache"),
            ("GraphCache", "Author"),
            ("GraphCache", "Done"),
        ],
        loops={
            "Author": {"max_rounds": chapters},
            "Checker": {"max_rounds": inner_rounds},
        },
    )


def with_tool(tool: Any, calls: list[dict[str, Any]], **fields: Any) -> Graph:
    """One agent that calls the tool `look` with these arguments, one call a turn."""
    from tests.unit.nodes.running import registry_with

    asking = [{"calls": [{"name": "look", "arguments": given}]} for given in calls]
    worker = agent("Worker", *asking, "That is all.", **fields)
    worker["config"] |= {"tools": ["look"], "max_tool_calls": 30}
    return graph_of([worker], [], registry=registry_with(look=tool), end="Worker")


WORDS = ["harbour", "committee", "flour", "primes", "violin", "lighthouse", "orchard", "glacier"]
