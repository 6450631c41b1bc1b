"""The workloads of PEERS.md, for Rondel and for the floor: the same functions, called barely."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from rondel import Engine, Graph

LINE = "x" * 200


def write(_: Any) -> str:
    return "draft"


def review(_: Any) -> str:
    return LINE


@dataclass(frozen=True, slots=True)
class Workload:
    """One comparison: `steps` calls of nodes, by the floor and by Rondel."""

    name: str
    steps: int
    floor: Callable[[], None]
    rondel: Callable[[], Awaitable[Any]]


def loop_graph(rounds: int, window: int = 0) -> Graph:
    """Three trivial nodes in a loop of so many rounds."""
    graph = Graph("loop")
    graph.node(id="write", context_window=window)(write)
    graph.node(id="review", context_window=window)(review)

    @graph.node
    def judge(inp: Any) -> dict[str, Any]:
        return {"round": inp.round}

    @graph.node
    def done(_: Any) -> str:
        return "done"

    graph.edge("write", "review")
    graph.edge("review", "judge")
    graph.edge("judge", "write", when=lambda message: message.data["round"] < rounds)
    graph.edge("judge", "done", when=lambda message: message.data["round"] >= rounds)
    graph.loop("write", max_rounds=rounds + 1)
    graph.limits(max_steps=10**9)
    graph.bind()
    return graph


def loop_workload(rounds: int) -> Workload:
    """W1: the loop, nothing remembered."""
    graph = loop_graph(rounds)

    def floor() -> None:
        for number in range(rounds):
            write(None)
            review(None)
            if {"round": number}["round"] >= rounds:
                break

    return Workload(f"W1 loop, {rounds:,} rounds", 3 * rounds, floor, lambda: _run(graph))


def history_workload(rounds: int) -> Workload:
    """W2: the loop, every message remembered."""
    graph = loop_graph(rounds, window=-1)

    def floor() -> None:
        history: list[str] = []
        for number in range(rounds):
            history.append(write(None))
            history.append(review(None))
            if {"round": number}["round"] >= rounds:
                break

    return Workload(f"W2 history, {rounds:,} rounds", 3 * rounds, floor, lambda: _run(graph))


def fan_out_workload(width: int, rounds: int) -> Workload:
    """W4: fan out, join, so many times."""
    graph = Graph("fan")

    @graph.node
    def split(_: Any) -> str:
        return "go"

    @graph.node
    def join(inp: Any) -> dict[str, Any]:
        return {"round": inp.round}

    @graph.node
    def done(_: Any) -> str:
        return "done"

    for number in range(width):
        graph.node(id=f"worker {number}")(review)
        graph.edge("split", f"worker {number}")
        graph.edge(f"worker {number}", "join")
    graph.edge("join", "split", when=lambda message: message.data["round"] < rounds)
    graph.edge("join", "done", when=lambda message: message.data["round"] >= rounds)
    graph.loop("split", max_rounds=rounds + 1)
    graph.limits(max_steps=10**9)
    graph.bind()

    async def gather() -> None:
        async def work() -> str:
            return review(None)

        for _ in range(rounds):
            await asyncio.gather(*(work() for _ in range(width)))

    steps = (width + 2) * rounds
    name = f"W4 fan-out {width}, {rounds:,} times"
    return Workload(name, steps, lambda: asyncio.run(gather()), lambda: _run(graph))


def stream_workload(rounds: int) -> Workload:
    """W6: the loop, every event told to a consumer."""
    graph = loop_graph(rounds)

    def floor() -> None:
        told: list[dict[str, Any]] = []
        for number in range(rounds):
            for name, call in (("write", write), ("review", review), ("judge", write)):
                told.append({"event": "running", "node": name, "seq": number})
                call(None)
                told.append({"event": "completed", "node": name, "seq": number})

    async def consume() -> int:
        async with Engine(db=None) as engine:
            session = await engine.start(graph, "task")
            return sum([1 async for _ in session.events()])

    return Workload(f"W6 events, {rounds:,} rounds", 3 * rounds, floor, consume)


async def _run(graph: Graph) -> None:
    async with Engine(db=None) as engine:
        result = await engine.run(graph, "task")
        assert result.status == "completed", result


def quick() -> list[Workload]:
    """Small enough for every day."""
    return [
        loop_workload(100),
        loop_workload(1_000),
        loop_workload(10_000),
        history_workload(100),
        history_workload(1_000),
        history_workload(5_000),
        fan_out_workload(32, 200),
        stream_workload(3_000),
    ]
