"""Burr: actions that read and write an immutable state, an application a run.

W1 to W3 are the synchronous `app.run`. W2 appends with `state.append`. W3 is its `SQLitePersister`
through `with_state_persister`, which saves the whole state after each step. W4 is a `MapStates`
action with its default thread pool. W5 is `app.arun` with async actions. W6 has hooks before and
after each step, which is how Burr tells.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from burr.core import Application, ApplicationBuilder, ApplicationContext, State, action, expr
from burr.core.parallelism import MapStates
from burr.core.persistence import SQLitePersister
from burr.lifecycle import PostRunStepHook, PreRunStepHook

from benchmarks.measurement import Prepare, Run, in_loop, speak
from benchmarks.workload import LINE, PAUSE, ROUNDS, WIDTH

logging.disable(logging.ERROR)


@action(reads=["round"], writes=["round"])
def write(state: State) -> State:
    return state.update(round=state["round"] + 1)


@action(reads=[], writes=["text"])
def review(state: State) -> State:
    return state.update(text=LINE)


@action(reads=[], writes=["history"])
def remember(state: State) -> State:
    return state.append(history=LINE)


@action(reads=["round", "rounds"], writes=["over"])
def judge(state: State) -> State:
    return state.update(over=state["round"] >= state["rounds"])


@action(reads=[], writes=[])
def done(state: State) -> State:
    return state


@action(reads=["round"], writes=["round"])
async def slow_write(state: State) -> State:
    await asyncio.sleep(PAUSE)
    return state.update(round=state["round"] + 1)


@action(reads=[], writes=["text"])
async def slow_review(state: State) -> State:
    await asyncio.sleep(PAUSE)
    return state.update(text=LINE)


@action(reads=["round", "rounds"], writes=["over"])
async def slow_judge(state: State) -> State:
    await asyncio.sleep(PAUSE)
    return state.update(over=state["round"] >= state["rounds"])


class Workers(MapStates):
    """The branches of the fan-out, and how they are joined."""

    def action(self, state: State, inputs: dict[str, Any]) -> Any:  # noqa: ARG002
        return review

    def states(
        self,
        state: State,
        context: ApplicationContext,  # noqa: ARG002
        inputs: dict[str, Any],  # noqa: ARG002
    ) -> Generator[State, None, None]:
        for number in range(WIDTH):
            yield state.update(number=number)

    def reduce(self, state: State, states: Generator[State, None, None]) -> State:
        return state.update(joined=state["joined"] + len([one["text"] for one in states]))

    @property
    def reads(self) -> list[str]:
        return ["joined"]

    @property
    def writes(self) -> list[str]:
        return ["joined"]


class Consumer(PreRunStepHook, PostRunStepHook):
    """Is told of each step before and after it."""

    def __init__(self) -> None:
        self.told = 0

    def pre_run_step(self, *, action: Any, **_: Any) -> None:
        self.told += action.name != "done"

    def post_run_step(self, *, action: Any, **_: Any) -> None:
        self.told += action.name != "done"


def builder(rounds: int, *middle: Any, ends: tuple[Any, Any] = (write, judge)) -> Any:
    """A loop from a writer over the nodes in the middle to a judge."""
    first, last = ends
    nodes = [first, *middle, last]
    names = [f"node {number}" for number in range(len(nodes))]
    follows = itertools.pairwise(names)
    return (
        ApplicationBuilder()
        .with_actions(done=done, **dict(zip(names, nodes, strict=True)))
        .with_transitions(*follows, (names[-1], "done", expr("over")), (names[-1], names[0]))
        .with_state(round=0, rounds=rounds, text="", history=[], over=False, joined=0)
        .with_entrypoint(names[0])
    )


@contextmanager
def ran(app: Application, counted: str) -> Iterator[Run]:
    """A run of the application to its end."""

    def run() -> int:
        _, _, state = app.run(halt_after=["done"])
        value = state[counted]
        return len(value) if isinstance(value, list) else int(value)

    yield run


def loop(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return ran(builder(size, review).build(), "round")


def history(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return ran(builder(size, remember).build(), "history")


@contextmanager
def durable(size: int, folder: Path) -> Iterator[Run]:
    persister = SQLitePersister(str(folder / "burr.db"))
    persister.initialize()
    app = builder(size, remember).with_state_persister(persister).build()
    with ran(app, "history") as run:
        yield run
    persister.connection.close()


def fan_out(size: int, _folder: Path) -> AbstractContextManager[Run]:
    return ran(builder(size, Workers()).build(), "joined")


def sessions(size: int, _folder: Path) -> AbstractContextManager[Run]:
    async def session() -> int:
        app = builder(ROUNDS, slow_review, ends=(slow_write, slow_judge)).build()
        _, _, state = await app.arun(halt_after=["done"])
        return int(state["round"])

    async def main() -> int:
        return sum(await asyncio.gather(*(session() for _ in range(size))))

    return in_loop(main)


@contextmanager
def stream(size: int, _folder: Path) -> Iterator[Run]:
    consumer = Consumer()
    app = builder(size, review).with_hooks(consumer).build()

    def run() -> int:
        app.run(halt_after=["done"])
        return consumer.told

    yield run


WORKLOADS: dict[str, Prepare] = {
    "W1": loop,
    "W2": history,
    "W3": durable,
    "W4": fan_out,
    "W5": sessions,
    "W6": stream,
}

if __name__ == "__main__":
    speak(WORKLOADS, "apache-burr")
