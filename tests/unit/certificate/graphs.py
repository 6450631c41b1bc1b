"""Small graphs for the tests of certificates and lints."""

from __future__ import annotations

import asyncio
from typing import Any

import yaml

from rondel import Engine, Graph
from rondel.certificate import Certificate, LoopCertificate, certify, lints_of

ACCEPT = {"type": "keyword", "config": {"any": ["ACCEPT"]}}
REVISE = {"type": "keyword", "config": {"none": ["ACCEPT"]}}


def node(name: str, type: str = "passthrough", **config: Any) -> dict[str, Any]:
    return {"id": name, "type": type, "config": config}


def says(name: str, *texts: Any, **more: Any) -> dict[str, Any]:
    """An agent with a script."""
    return {**node(name, "agent", provider="scripted", answers=list(texts)), **more}


def edge(source: str, target: str, condition: Any = True, **more: Any) -> dict[str, Any]:
    return {"from": source, "to": target, "condition": condition, **more}


def body(nodes: list[dict[str, Any]], edges: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A graph that starts at its first node and ends at its last."""
    ends = {"start": nodes[0]["id"], "end": nodes[-1]["id"]}
    return {"id": "g", **ends, "nodes": nodes, "edges": edges, "breaker": "off", **more}


def review(
    guard: dict[str, Any] | None = None, edges: list[dict[str, Any]] | None = None, **more: Any
) -> dict[str, Any]:
    """The review loop of the seed, with another guard or other edges."""
    guard = guard or node("Guard", "loop_counter", max_iterations=3)
    nodes = [says("Writer", "draft"), says("Reviewer", "more"), guard, node("Final")]
    drawn = edges or [
        edge("Writer", "Reviewer"),
        edge("Reviewer", "Final", ACCEPT),
        edge("Reviewer", "Writer", REVISE),
        edge("Reviewer", "Guard", REVISE),
        edge("Guard", "Writer"),
        edge("Guard", "Final"),
    ]
    return body(nodes, drawn, **more)


def load(graph: dict[str, Any]) -> Graph:
    """The graph of a body, with lines as in a file."""
    return Graph.loads(yaml.safe_dump({"version": 1, "graph": graph}, sort_keys=False))


def certificate(graph: dict[str, Any]) -> Certificate:
    return certify(load(graph).plan())


def only_loop(graph: dict[str, Any]) -> LoopCertificate:
    (loop,) = certificate(graph).loops
    return loop


def codes(graph: dict[str, Any]) -> list[str]:
    """The names of the lints that a graph has."""
    loaded = load(graph)
    found = lints_of(loaded.plan(), certify(loaded.plan()), loaded.registry)
    return [lint.code for lint in found]


def rounds_of(graph: dict[str, Any], *answers: str, **inputs: Any) -> dict[str, list[int]]:
    """By head: the rounds of every entry of a run."""

    async def ran() -> dict[str, list[int]]:
        left, rounds = list(answers), {}
        async with asyncio.timeout(20), Engine(db=None) as engine:
            session = await engine.start(load(graph), {"task": "t", **inputs})
            while (await session.settled()).status == "waiting" and left:
                await session.answer(left.pop(0))
            async for event in session.events():
                if event.event == "loop:exited":
                    rounds.setdefault(event.data["loop"], []).append(event.data["rounds"])
        return rounds

    return asyncio.run(ran())
