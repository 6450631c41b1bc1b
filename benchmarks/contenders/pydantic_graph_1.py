"""pydantic-graph 1.x: node classes that return the next node, a dataclass as state.

W3 is its `FileStatePersistence`, which reads and writes one JSON file with all snapshots. It runs
one node at a time, so W4 has no counterpart. W6 iterates `graph.iter`, which yields each node when
its turn comes; it is over when the next one is yielded.
"""

from __future__ import annotations

import asyncio
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measurement import Prepare, Run, in_loop, speak
from benchmarks.workload import LINE, PAUSE, ROUNDS

warnings.simplefilter("ignore")

from pydantic_graph import BaseNode, End, Graph, GraphRunContext  # noqa: E402
from pydantic_graph.persistence.file import FileStatePersistence  # noqa: E402


@dataclass
class State:
    """What the nodes share."""

    rounds: int
    remembers: bool = False
    pause: float = 0
    round: int = 0
    history: list[str] = field(default_factory=list)


@dataclass
class Write(BaseNode[State, None, int]):
    async def run(self, ctx: GraphRunContext[State]) -> Review:
        if ctx.state.pause:
            await asyncio.sleep(ctx.state.pause)
        ctx.state.round += 1
        return Review()


@dataclass
class Review(BaseNode[State, None, int]):
    async def run(self, ctx: GraphRunContext[State]) -> Judge:
        if ctx.state.pause:
            await asyncio.sleep(ctx.state.pause)
        if ctx.state.remembers:
            ctx.state.history.append(LINE)
        return Judge()


@dataclass
class Judge(BaseNode[State, None, int]):
    async def run(self, ctx: GraphRunContext[State]) -> Write | End[int]:
        if ctx.state.pause:
            await asyncio.sleep(ctx.state.pause)
        if ctx.state.round < ctx.state.rounds:
            return Write()
        return End(len(ctx.state.history) if ctx.state.remembers else ctx.state.round)


graph = Graph(nodes=(Write, Review, Judge))


async def result(state: State) -> int:
    """Run the graph to its end."""
    return int((await graph.run(Write(), state=state)).output)


def loop(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return in_loop(lambda: result(State(size)))


def history(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return in_loop(lambda: result(State(size, remembers=True)))


def durable(size: int, folder: Path) -> AbstractContextManager[Run]:
    async def main() -> int:
        kept = FileStatePersistence(folder / "run.json")
        done = await graph.run(Write(), state=State(size, remembers=True), persistence=kept)
        return int(done.output)

    return in_loop(main)


def sessions(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def main() -> int:
        runs = (result(State(ROUNDS, pause=PAUSE)) for _ in range(size))
        return sum(await asyncio.gather(*runs))

    return in_loop(main)


def stream(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def main() -> int:
        started = finished = 0
        async with graph.iter(Write(), state=State(size)) as run:
            async for node in run:
                finished = started
                started += not isinstance(node, End)
        return started + finished

    return in_loop(main)


WORKLOADS: dict[str, Prepare] = {
    "W1": loop,
    "W2": history,
    "W3": durable,
    "W5": sessions,
    "W6": stream,
}

if __name__ == "__main__":
    speak(WORKLOADS, "pydantic-graph")
