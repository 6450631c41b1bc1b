"""What a loop of built-in nodes, written in YAML, costs beside one of Python functions."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import yaml

from benchmarks.probe import Figures, answer, best_cpu
from rondel import Context, Engine, Graph

PASSES = 5

DOCUMENT = """
version: 1
graph:
  id: loop
  start: Write
  limits: {{max_steps: 1000000000}}
  loops: {{Write: {{max_rounds: {most}}}}}
  nodes:
    - {{id: Write, type: literal, config: {{content: a draft}}}}
    - {{id: Review, type: passthrough}}
    - {{id: Judge, type: loop, config: {{max_rounds: {rounds}}}}}
    - {{id: Done, type: passthrough}}
  edges:
    - {{from: Write, to: Review, condition: {{type: keyword, config: {{any: [draft]}}}}}}
    - {{from: Review, to: Judge, condition: {{type: expr, config: {{expr: "round >= 1"}}}}}}
    - {{from: Judge, to: Write, label: continue}}
    - {{from: Judge, to: Done, label: exit}}
"""


def yaml_graph(rounds: int) -> Graph:
    """Literal, passthrough and loop nodes; keyword and expr conditions."""
    return Graph.from_document(yaml.safe_load(DOCUMENT.format(rounds=rounds, most=rounds + 1)))


def python_graph(rounds: int) -> Graph:
    """The same loop of functions and callables."""
    graph = Graph("loop")

    @graph.node
    def write(_: Context) -> str:
        return "a draft"

    @graph.node
    def review(inp: Context) -> str:
        return inp.text

    @graph.node
    def judge(inp: Context) -> dict[str, Any]:
        return {"current_round": inp.round}

    @graph.node
    def done(inp: Context) -> dict[str, Any]:
        return inp.data

    graph.edge("write", "review", when=lambda message: "draft" in message.content)
    graph.edge("review", "judge", when=lambda message: bool(message.content))
    graph.edge("judge", "write", when=lambda message: message.data["current_round"] < rounds)
    graph.edge("judge", "done", when=lambda message: message.data["current_round"] >= rounds)
    graph.loop("write", max_rounds=rounds + 1)
    graph.limits(max_steps=10**9)
    return graph


async def rounds_of(engine: Engine, graph: Graph) -> int:
    """Run a graph to its end and say how many rounds that took."""
    return int((await engine.run(graph, "task")).data["current_round"])


def figures(rounds: int) -> Figures:
    """Microseconds of CPU for each step."""
    with asyncio.Runner() as runner:
        engine = Engine(db=None)
        graphs = {"yaml": yaml_graph(rounds), "python": python_graph(rounds)}
        calls = {
            name: partial(_run, runner, engine, graph, rounds) for name, graph in graphs.items()
        }
        best = best_cpu(calls, PASSES)
        runner.run(engine.close())
    return {name: seconds / (3 * rounds) * 1e6 for name, seconds in best.items()}


def _run(runner: asyncio.Runner, engine: Engine, graph: Graph, rounds: int) -> None:
    counted = runner.run(rounds_of(engine, graph))
    if counted != rounds:
        raise AssertionError(f"{counted} rounds instead of {rounds}")


if __name__ == "__main__":
    answer(figures, 1_000)
