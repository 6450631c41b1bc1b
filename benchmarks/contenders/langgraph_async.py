"""LangGraph, asynchronous: the same graphs with async nodes, `graph.ainvoke`.

W3 is its `AsyncSqliteSaver` with `durability="sync"`, so that a step is stored before the next one
starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.contenders.langgraph import (
    CONFIG,
    State,
    Update,
    fan_graph,
    fresh,
    loop_graph,
    steps_in,
)
from benchmarks.measurement import Prepare, Run, in_loop, speak
from benchmarks.workload import LINE, PAUSE, ROUNDS


async def write(state: State) -> Update:
    return {"round": state["round"] + 1}


async def review(_: State) -> Update:
    return {"text": LINE}


async def remember(_: State) -> Update:
    return {"history": [LINE]}


async def work(_: State) -> Update:
    return {"joined": 1}


async def judge(_: State) -> Update:
    return {"text": "judged"}


async def slow_write(state: State) -> Update:
    await asyncio.sleep(PAUSE)
    return await write(state)


async def slow_review(state: State) -> Update:
    await asyncio.sleep(PAUSE)
    return await review(state)


async def slow_judge(state: State) -> Update:
    await asyncio.sleep(PAUSE)
    return await judge(state)


def loop(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph({"write": write, "review": review, "judge": judge})

    async def main() -> int:
        return int((await graph.ainvoke(fresh(size), CONFIG))["round"])

    return in_loop(main)


def history(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph({"write": write, "review": remember, "judge": judge})

    async def main() -> int:
        return len((await graph.ainvoke(fresh(size), CONFIG))["history"])

    return in_loop(main)


@contextmanager
def durable(size: int, folder: Path) -> Iterator[Run]:
    nodes = {"write": write, "review": remember, "judge": judge}
    opened = AsyncSqliteSaver.from_conn_string(str(folder / "graph.db"))
    with asyncio.Runner() as runner:
        saver = runner.run(opened.__aenter__())
        runner.run(saver.setup())
        graph = loop_graph(nodes, saver)

        async def main() -> int:
            done = await graph.ainvoke(fresh(size), CONFIG, durability="sync")
            return len(done["history"])

        yield lambda: runner.run(main())
        runner.run(opened.__aexit__(None, None, None))


def fan_out(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = fan_graph(write, work, judge)

    async def main() -> int:
        return int((await graph.ainvoke(fresh(size), CONFIG))["joined"])

    return in_loop(main)


def sessions(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph({"write": slow_write, "review": slow_review, "judge": slow_judge})

    async def main() -> int:
        runs = (graph.ainvoke(fresh(ROUNDS), CONFIG) for _ in range(size))
        return sum(done["round"] for done in await asyncio.gather(*runs))

    return in_loop(main)


def stream(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph({"write": write, "review": review, "judge": judge})

    async def main() -> int:
        told = graph.astream(fresh(size), CONFIG, stream_mode="debug")
        return sum([steps_in(update) async for update in told])

    return in_loop(main)


WORKLOADS: dict[str, Prepare] = {
    "W1": loop,
    "W2": history,
    "W3": durable,
    "W4": fan_out,
    "W5": sessions,
    "W6": stream,
}

if __name__ == "__main__":
    speak(WORKLOADS, "langgraph")
