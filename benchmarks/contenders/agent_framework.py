"""Microsoft Agent Framework: function executors joined by edges, `workflow.run`.

The round travels in the message; the history is in the workflow's shared state. W3 is its
`FileCheckpointStorage`, which writes a file with all of the state after each superstep. W4 has
fan-out and fan-in edges. W6 is `workflow.run(..., stream=True)`.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from agent_framework import (
    FileCheckpointStorage,
    FunctionExecutor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
)

from benchmarks.measurement import Prepare, Run, in_loop, speak
from benchmarks.workload import LINE, PAUSE, ROUNDS, WIDTH

TOLD = ("executor_invoked", "executor_completed")


def loop_graph(
    rounds: int, *, remembers: bool = False, pause: float = 0, store: Any = None
) -> Workflow:
    """W1, W2, W3, W5, W6: three executors in a circle."""

    async def write(round: int, ctx: WorkflowContext[int]) -> None:
        if pause:
            await asyncio.sleep(pause)
        await ctx.send_message(round + 1)

    async def review(round: int, ctx: WorkflowContext[int]) -> None:
        if pause:
            await asyncio.sleep(pause)
        if remembers:
            history = ctx.get_state("history", [])
            history.append(LINE)
            ctx.set_state("history", history)
        await ctx.send_message(round)

    async def judge(round: int, ctx: WorkflowContext[int, int]) -> None:
        if pause:
            await asyncio.sleep(pause)
        if round < rounds:
            await ctx.send_message(round)
        else:
            await ctx.yield_output(len(ctx.get_state("history")) if remembers else round)

    nodes = [FunctionExecutor(node, id=node.__name__) for node in (write, review, judge)]
    return (
        WorkflowBuilder(
            name="loop",
            max_iterations=10**9,
            start_executor=nodes[0],
            output_from=[nodes[2]],
            checkpoint_storage=store,
        )
        .add_edge(nodes[0], nodes[1])
        .add_edge(nodes[1], nodes[2])
        .add_edge(nodes[2], nodes[0])
        .build()
    )


def fan_graph(rounds: int) -> Workflow:
    """W4: one executor starts many, one waits for all of them."""
    joined = 0

    async def split(round: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(round + 1)

    async def work(round: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(round)

    async def join(results: list[int], ctx: WorkflowContext[int, int]) -> None:
        nonlocal joined
        joined += len(results)
        if results[0] < rounds:
            await ctx.send_message(results[0])
        else:
            await ctx.yield_output(joined)

    first = FunctionExecutor(split, id="split")
    last = FunctionExecutor(join, id="join")
    workers = [FunctionExecutor(work, id=f"worker {number}") for number in range(WIDTH)]
    return (
        WorkflowBuilder(name="fan", max_iterations=10**9, start_executor=first, output_from=[last])
        .add_fan_out_edges(first, workers)
        .add_fan_in_edges(workers, last)
        .add_edge(last, first)
        .build()
    )


async def result(workflow: Workflow) -> int:
    """Run a workflow to its end."""
    return int((await workflow.run(0)).get_outputs()[-1])


def loop(size: int, _folder: Path) -> AbstractContextManager[Run]:
    workflow = loop_graph(size)
    return in_loop(lambda: result(workflow))


def history(size: int, _folder: Path) -> AbstractContextManager[Run]:
    workflow = loop_graph(size, remembers=True)
    return in_loop(lambda: result(workflow))


def durable(size: int, folder: Path) -> AbstractContextManager[Run]:
    workflow = loop_graph(size, remembers=True, store=FileCheckpointStorage(folder))
    return in_loop(lambda: result(workflow))


def fan_out(size: int, _folder: Path) -> AbstractContextManager[Run]:
    workflow = fan_graph(size)
    return in_loop(lambda: result(workflow))


def sessions(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def main() -> int:
        workflows = [loop_graph(ROUNDS, pause=PAUSE) for _ in range(size)]
        return sum(await asyncio.gather(*map(result, workflows)))

    return in_loop(main)


def stream(size: int, _folder: Path) -> AbstractContextManager[Run]:
    workflow = loop_graph(size)

    async def main() -> int:
        return sum([event.type in TOLD async for event in workflow.run(0, stream=True)])

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
    speak(WORKLOADS, "agent-framework-core")
