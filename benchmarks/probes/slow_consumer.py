"""What a consumer that falls far behind costs the run that it watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from benchmarks.contenders.rondel import loop_graph
from benchmarks.probe import Figures, answer, best_cpu
from rondel import Engine, Graph, Session

Way = Callable[[Engine, Graph], Coroutine[Any, Any, None]]

PASSES = 5
REST = 0.02
"""Seconds that the consumer rests after each event."""


async def unwatched(engine: Engine, graph: Graph) -> None:
    """Run to the end with nobody looking."""
    await (await engine.start(graph, "task")).result()


async def watched(engine: Engine, graph: Graph) -> None:
    """Run to the end while somebody reads far too slowly."""
    session = await engine.start(graph, "task")
    consumer = asyncio.create_task(_dawdle(session))
    await session.result()
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)


async def _dawdle(session: Session) -> None:
    async for _ in session.events():
        await asyncio.sleep(REST)


def figures(rounds: int) -> Figures:
    """Microseconds of CPU for each step."""
    graph = loop_graph(rounds)
    with asyncio.Runner() as runner:
        engine = Engine(db=None)
        runner.run(unwatched(engine, graph))
        ways: dict[str, Way] = {"alone": unwatched, "watched": watched}
        calls = {name: partial(_run, runner, way, engine, graph) for name, way in ways.items()}
        best = best_cpu(calls, PASSES)
        runner.run(engine.close())
    return {name: seconds / (3 * rounds) * 1e6 for name, seconds in best.items()}


def _run(runner: asyncio.Runner, way: Way, engine: Engine, graph: Graph) -> None:
    runner.run(way(engine, graph))


if __name__ == "__main__":
    answer(figures, 3_000)
