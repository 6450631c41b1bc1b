"""LlamaIndex Workflows: steps that take and return typed events, `workflow.run`.

The round travels in the events; the history is in the context's state, edited in place. It keeps no
store of its own for a running workflow (a context can be dumped by hand), so W3 has no counterpart.
W4 sends 32 events and collects 32. W6 is `handler.stream_events(expose_internal=True)`, which tells
when a step starts and when it ends.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path

from pydantic import BaseModel, Field
from workflows import Context, Workflow, step
from workflows.events import Event, StartEvent, StepState, StepStateChanged, StopEvent

from benchmarks.measurement import Prepare, Run, in_loop, speak
from benchmarks.workload import LINE, PAUSE, ROUNDS, WIDTH

TOLD = (StepState.RUNNING, StepState.NOT_RUNNING)


class Draft(Event):
    round: int


class Reviewed(Event):
    round: int


class Again(Event):
    round: int


class Task(Event):
    number: int


class Worked(Event):
    text: str


class Memory(BaseModel):
    """What the steps share."""

    history: list[str] = Field(default_factory=list)


class Loop(Workflow):
    """W1, W2: three steps in a circle."""

    def __init__(self, rounds: int, remembers: bool = False, pause: float = 0) -> None:
        super().__init__(timeout=None)
        self.rounds = rounds
        self.remembers = remembers
        self.pause = pause

    @step
    async def write(self, ev: StartEvent | Again) -> Draft:
        if self.pause:
            await asyncio.sleep(self.pause)
        return Draft(round=ev.round + 1 if isinstance(ev, Again) else 1)

    @step
    async def review(self, ctx: Context[Memory], ev: Draft) -> Reviewed:
        if self.pause:
            await asyncio.sleep(self.pause)
        if self.remembers:
            async with ctx.store.edit_state() as memory:
                memory.history.append(LINE)
        return Reviewed(round=ev.round)

    @step
    async def judge(self, ctx: Context[Memory], ev: Reviewed) -> Again | StopEvent:
        if self.pause:
            await asyncio.sleep(self.pause)
        if ev.round < self.rounds:
            return Again(round=ev.round)
        if self.remembers:
            return StopEvent(result=len((await ctx.store.get_state()).history))
        return StopEvent(result=ev.round)


class Fan(Workflow):
    """W4: one step sends many events, one collects them all."""

    def __init__(self, rounds: int) -> None:
        super().__init__(timeout=None)
        self.rounds = rounds
        self.round = 0
        self.joined = 0

    @step
    async def split(self, ctx: Context, ev: StartEvent | Again) -> Task | None:  # noqa: ARG002
        self.round += 1
        for number in range(WIDTH):
            ctx.send_event(Task(number=number))
        return None

    @step(num_workers=WIDTH)
    async def work(self, ev: Task) -> Worked:  # noqa: ARG002
        return Worked(text=LINE)

    @step
    async def join(self, ctx: Context, ev: Worked) -> Again | StopEvent | None:
        results = ctx.collect_events(ev, [Worked] * WIDTH)
        if results is None:
            return None
        self.joined += len(results)
        if self.round < self.rounds:
            return Again(round=self.round)
        return StopEvent(result=self.joined)


async def result(workflow: Workflow) -> int:
    """Run a workflow to its end."""
    return int(await workflow.run())


def loop(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return in_loop(lambda: result(Loop(size)))


def history(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return in_loop(lambda: result(Loop(size, remembers=True)))


def fan_out(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return in_loop(lambda: result(Fan(size)))


def sessions(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def main() -> int:
        workflow = Loop(ROUNDS, pause=PAUSE)
        return sum(await asyncio.gather(*(result(workflow) for _ in range(size))))

    return in_loop(main)


def stream(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def main() -> int:
        told = 0
        handler = Loop(size).run()
        async for event in handler.stream_events(expose_internal=True):
            told += isinstance(event, StepStateChanged) and event.step_state in TOLD
        await handler
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
    speak(WORKLOADS, "llama-index-workflows")
