"""pydantic-graph 2: steps and decisions of its `GraphBuilder`, a dataclass as state.

W4 broadcasts to 32 steps and joins them with `reduce_list_append`. It has no persistence any more,
so W3 has no counterpart. W6 iterates the run, which yields the tasks that start next; they are over
when the next ones are yielded.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic_graph import (
    EndMarker,
    Graph,
    GraphBuilder,
    StepContext,
    TypeExpression,
    reduce_list_append,
)

from benchmarks.measurement import Prepare, Run, in_loop, speak
from benchmarks.workload import LINE, PAUSE, ROUNDS, WIDTH


@dataclass
class State:
    """What the steps share."""

    rounds: int
    remembers: bool = False
    pause: float = 0
    round: int = 0
    joined: int = 0
    history: list[str] = field(default_factory=list)


Step: TypeAlias = StepContext[State, None, Any]
NAMES = ("write", "review", "judge")


def loop_graph() -> Graph[State, None, None, int]:
    """W1, W2, W5, W6: three steps and a decision."""
    builder = GraphBuilder(state_type=State, output_type=int)

    @builder.step
    async def write(ctx: Step) -> str:
        if ctx.state.pause:
            await asyncio.sleep(ctx.state.pause)
        ctx.state.round += 1
        return "draft"

    @builder.step
    async def review(ctx: Step) -> str:
        if ctx.state.pause:
            await asyncio.sleep(ctx.state.pause)
        if ctx.state.remembers:
            ctx.state.history.append(LINE)
        return LINE

    @builder.step
    async def judge(ctx: Step) -> Literal["again"] | int:
        if ctx.state.pause:
            await asyncio.sleep(ctx.state.pause)
        if ctx.state.round < ctx.state.rounds:
            return "again"
        return len(ctx.state.history) if ctx.state.remembers else ctx.state.round

    again = builder.match(TypeExpression[Literal["again"]]).to(write)
    over = builder.match(int).to(builder.end_node)
    builder.add(
        builder.edge_from(builder.start_node).to(write),
        builder.edge_from(write).to(review),
        builder.edge_from(review).to(judge),
        builder.edge_from(judge).to(builder.decision().branch(again).branch(over)),
    )
    return builder.build()


def fan_graph() -> Graph[State, None, None, int]:
    """W4: one step starts many, a join waits for all of them."""
    builder = GraphBuilder(state_type=State, output_type=int)

    @builder.step
    async def split(ctx: Step) -> str:
        ctx.state.round += 1
        return "go"

    async def work(_: Step) -> str:
        return LINE

    workers = [builder.step(work, node_id=f"worker {number}") for number in range(WIDTH)]
    collect = builder.join(reduce_list_append, initial_factory=list[str])

    @builder.step
    async def join(ctx: StepContext[State, None, list[str]]) -> Literal["again"] | int:
        ctx.state.joined += len(ctx.inputs)
        return "again" if ctx.state.round < ctx.state.rounds else ctx.state.joined

    again = builder.match(TypeExpression[Literal["again"]]).to(split)
    over = builder.match(int).to(builder.end_node)
    builder.add(
        builder.edge_from(builder.start_node).to(split),
        builder.edge_from(split).to(*workers),
        *(builder.edge_from(worker).to(collect) for worker in workers),
        builder.edge_from(collect).to(join),
        builder.edge_from(join).to(builder.decision().branch(again).branch(over)),
    )
    return builder.build()


def loop(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph()
    return in_loop(lambda: graph.run(state=State(size)))


def history(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph()
    return in_loop(lambda: graph.run(state=State(size, remembers=True)))


def fan_out(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = fan_graph()
    return in_loop(lambda: graph.run(state=State(size)))


def sessions(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph()

    async def main() -> int:
        runs = (graph.run(state=State(ROUNDS, pause=PAUSE)) for _ in range(size))
        return sum(await asyncio.gather(*runs))

    return in_loop(main)


def stream(size: int, _folder: Path) -> AbstractContextManager[Run]:
    graph = loop_graph()

    async def main() -> int:
        told = 0
        under_way = 0
        async with graph.iter(state=State(size)) as run:
            async for tasks in run:
                told += under_way
                if isinstance(tasks, EndMarker):
                    break
                under_way = sum(task.node_id in NAMES for task in tasks)
                told += under_way
        return told

    return in_loop(main)


WORKLOADS: dict[str, Prepare] = {
    "W1": loop,
    "W2": history,
    "W4": fan_out,
    "W5": sessions,
    "W6": stream,
}

if __name__ == "__main__":
    speak(WORKLOADS, "pydantic-graph")
