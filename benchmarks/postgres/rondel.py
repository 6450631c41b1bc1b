"""Rondel: a loop of one node, with its sessions in PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.postgres.measurement import TEXT, Drive, speak
from rondel import Engine, Graph


def loop(steps: int) -> Graph:
    """One node, so many times."""
    graph = Graph("write", start="write", end="write")

    @graph.node
    async def write(_: Any) -> str:
        return TEXT

    graph.edge("write", "write")
    graph.loop("write", max_rounds=steps)
    graph.limits(max_steps=10 * steps)
    return graph


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Drive]:
    """An engine on that database."""
    async with Engine(url) as engine:

        async def drive(name: str, steps: int) -> object:
            return await engine.run(loop(steps), name)

        yield drive


if __name__ == "__main__":
    speak(opened)
