"""Rondel: functions as nodes, callables on the edges; an engine that is open, one session a run.

W2 and W3 keep the history in a node's context (`context_window: -1`); W3 is the SQLite store with
its default durability, normal. W6 reads `session.events()` and counts the starts and finishes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measurement import Prepare, Run, speak
from benchmarks.workload import LINE, PAUSE, ROUNDS, WIDTH
from rondel import Context, Engine, Event, Graph
from rondel.sessions.stores import Durability

DONE = "done"


def unbounded(graph: Graph, head: str, last: str, rounds: int) -> Graph:
    """Close the loop from its last node to its head, and let it out after so many rounds."""

    @graph.node(id=DONE)
    def done(inp: Context) -> dict[str, Any]:
        return {"rounds": inp.data["round"]}

    graph.edge(last, head, when=lambda message: message.data["round"] < rounds)
    graph.edge(last, DONE, when=lambda message: message.data["round"] >= rounds)
    graph.loop(head, max_rounds=rounds + 1)
    graph.limits(max_steps=10**9)
    return graph


def loop_graph(rounds: int) -> Graph:
    """W1: three nodes, nothing remembered."""
    graph = Graph("loop")

    @graph.node
    def write(_: Context) -> str:
        return "draft"

    @graph.node
    def review(_: Context) -> str:
        return LINE

    @graph.node
    def judge(inp: Context) -> dict[str, Any]:
        return {"round": inp.round}

    graph.edge("write", "review")
    graph.edge("review", "judge")
    return unbounded(graph, "write", "judge", rounds)


def history_graph(rounds: int, saw: Callable[[int], None]) -> Graph:
    """W2: the reviewer retains what it was sent and what it said, and looks at it each round."""
    graph = Graph("history")

    @graph.node
    def write(_: Context) -> str:
        return "draft"

    @graph.node(context_window=-1)
    def review(inp: Context) -> str:
        saw(len(inp.messages))
        return LINE

    @graph.node
    def judge(inp: Context) -> dict[str, Any]:
        return {"round": inp.round}

    graph.edge("write", "review")
    graph.edge("review", "judge")
    return unbounded(graph, "write", "judge", rounds)


def fan_graph(rounds: int, saw: Callable[[int], None]) -> Graph:
    """W4: one node starts many, one waits for all of them."""
    graph = Graph("fan")

    @graph.node
    def split(_: Context) -> str:
        return "go"

    @graph.node
    def join(inp: Context) -> dict[str, Any]:
        saw(len(inp.messages))
        return {"round": inp.round}

    for number in range(WIDTH):
        graph.node(id=f"worker {number}")(lambda _: LINE)
        graph.edge("split", f"worker {number}")
        graph.edge(f"worker {number}", "join")
    return unbounded(graph, "split", "join", rounds)


def waiting_graph(rounds: int) -> Graph:
    """W5: three nodes, each waits a moment."""
    graph = Graph("pauses")

    @graph.node
    async def write(_: Context) -> str:
        await asyncio.sleep(PAUSE)
        return "draft"

    @graph.node
    async def review(_: Context) -> str:
        await asyncio.sleep(PAUSE)
        return LINE

    @graph.node
    async def judge(inp: Context) -> dict[str, Any]:
        await asyncio.sleep(PAUSE)
        return {"round": inp.round}

    graph.edge("write", "review")
    graph.edge("review", "judge")
    return unbounded(graph, "write", "judge", rounds)


@contextmanager
def with_engine(
    graph: Graph,
    work: Callable[[Engine], Coroutine[Any, Any, int]],
    db: Path | None = None,
    durability: Durability = "normal",
) -> Iterator[Run]:
    """A run on an engine that is open and knows the graph."""
    with asyncio.Runner() as runner:
        engine = Engine(db, durability=durability)
        engine.bind(graph)
        try:
            yield lambda: runner.run(work(engine))
        finally:
            runner.run(engine.close())


async def rounds_of(engine: Engine, graph: Graph) -> int:
    """Run a graph to its end and say how many rounds that took."""
    return int((await engine.run(graph, "task")).data["rounds"])


def loop(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph(size)
    return with_engine(graph, lambda engine: rounds_of(engine, graph))


def remembered(db: Path | None, durability: Durability, size: int) -> AbstractContextManager[Run]:
    """The loop with a history; the proof is what the reviewer saw in the last round."""
    seen = 0

    def saw(count: int) -> None:
        nonlocal seen
        seen = count

    async def work(engine: Engine) -> int:
        await engine.run(graph, "task")
        return (seen + 1) // 2  # of each round but the last, what came in and what went out

    graph = history_graph(size, saw)
    return with_engine(graph, work, db, durability)


def history(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return remembered(None, "normal", size)


def durable(durability: Durability) -> Prepare:
    """The loop with a history on the SQLite store."""
    return lambda size, folder: remembered(folder / "rondel.db", durability, size)


def fan_out(size: int, _folder: Path) -> AbstractContextManager[Run]:
    joined = 0

    def saw(count: int) -> None:
        nonlocal joined
        joined += count

    async def work(engine: Engine) -> int:
        await engine.run(graph, "task")
        return joined

    graph = fan_graph(size, saw)
    return with_engine(graph, work)


def sessions(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = waiting_graph(ROUNDS)

    async def work(engine: Engine) -> int:
        return sum(await asyncio.gather(*(rounds_of(engine, graph) for _ in range(size))))

    return with_engine(graph, work)


def stream(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph(size)

    async def work(engine: Engine) -> int:
        session = await engine.start(graph, "task")
        return await steps_told(session.events())

    return with_engine(graph, work)


async def steps_told(events: AsyncIterator[Event]) -> int:
    """How many starts and finishes of the loop's nodes a consumer is told."""
    told = 0
    async for event in events:
        if event.event == "node_state_change" and event.node_id != DONE:
            told += 1
    return told


WORKLOADS: dict[str, Prepare] = {
    "W1": loop,
    "W2": history,
    "W3": durable("normal"),
    "W4": fan_out,
    "W5": sessions,
    "W6": stream,
}

if __name__ == "__main__":
    speak(WORKLOADS, "rondel")
