"""Counts what the engine calls for a step, and prints it as JSON: a program, for plain Python."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

from rondel import Context, Engine, Graph
from rondel.engine.shell import stepper
from tests.counting import calls_of

FEW, MANY = 50, 150


def loop(rounds: int, window: int = 0) -> Graph:
    graph = Graph("loop")
    graph.node(id="write", context_window=window)(lambda _: "draft")
    graph.node(id="review", context_window=window)(lambda _: "a review")

    @graph.node
    def judge(inp: Context) -> dict[str, int]:
        return {"round": inp.round}

    graph.node(id="done")(lambda _: "done")
    graph.edge("write", "review")
    graph.edge("review", "judge")
    graph.edge("judge", "write", when=lambda message: message.data["round"] < rounds)
    graph.edge("judge", "done", when=lambda message: message.data["round"] >= rounds)
    graph.loop("write", max_rounds=rounds + 1)
    graph.bind()
    return graph


def fan(rounds: int) -> Graph:
    graph = Graph("fan")
    graph.node(id="split")(lambda _: "go")

    @graph.node
    def join(inp: Context) -> dict[str, int]:
        return {"round": inp.round}

    graph.node(id="done")(lambda _: "done")
    for number in range(32):
        graph.node(id=f"worker {number}")(lambda _: "done")
        graph.edge("split", f"worker {number}")
        graph.edge(f"worker {number}", "join")
    graph.edge("join", "split", when=lambda message: message.data["round"] < rounds)
    graph.edge("join", "done", when=lambda message: message.data["round"] >= rounds)
    graph.loop("split", max_rounds=rounds + 1)
    graph.limits(max_steps=10**6)
    graph.bind()
    return graph


async def run(graph: Graph) -> None:
    async with Engine(db=None) as engine:
        assert (await engine.run(graph, "task")).status == "completed"


async def watch(graph: Graph) -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "task")
        assert [event async for event in session.events()]


def calls_per_step(
    graph_of: Callable[[int], Graph], work: Callable[[Graph], Awaitable[None]], steps: int
) -> float:
    """The calls of a step in a long run, without those of a session."""
    counts = []
    for rounds in (FEW, MANY):
        graph = graph_of(rounds)
        with asyncio.Runner() as runner:
            runner.run(work(graph))  # type: ignore[arg-type]
            counts.append(calls_of(lambda: runner.run(work(graph))))  # type: ignore[arg-type] # noqa: B023
    return (counts[1] - counts[0]) / (steps * (MANY - FEW))


def counted() -> dict[str, float]:
    stepper.YIELD_EVERY = 3600.0  # counting is slow, and others' turns are a matter of time
    return {
        "a loop": calls_per_step(loop, run, 3),
        "with a history": calls_per_step(lambda rounds: loop(rounds, window=-1), run, 3),
        "fan-out and join": calls_per_step(fan, run, 34),
        "every event told": calls_per_step(loop, watch, 3),
    }


if __name__ == "__main__":
    json.dump(counted(), sys.stdout)
