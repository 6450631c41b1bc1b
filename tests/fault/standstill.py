"""A program that stands still (SIGSTOP) in the middle of its session, and is woken by the test.

    python -m tests.fault.standstill DB SESSION MARKS WHERE

`WHERE` is a number: so many steps are in the journal, and what follows has not begun; or the
address of a step, with the name of a part: while that waits. Every call of foreign code leaves a
line in the file of marks.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import BaseModel

from rondel import Emit, Engine, Graph, Message
from rondel.engine.registry import Registry
from rondel.engine.ticks import AnyTick, Finished
from rondel.journal.store import Durable, Store
from rondel.sessions import local_sessions
from rondel.sessions.registry import builtin_registry

LEASE = 1.0

PARTS = ("one", "two", "three")


class NoConfig(BaseModel):
    """Nothing to set."""


class Called:
    """A node that leaves a mark whenever it is called, or one for each of its parts."""

    def __init__(self, marks: str, where: str) -> None:
        self._marks = marks
        self._where = where

    async def process(self, ctx: Any) -> Emit:
        if ctx.node_id == "parts":
            for part in PARTS:
                await ctx.substep(part, partial(self._call, f"{ctx.address} {part}"))
        else:
            await self._call(ctx.address)
        if ctx.node_id == "tried":
            raise OSError("it fails whenever it is tried")
        return Emit([Message(ctx.address)])

    async def _call(self, name: str) -> str:
        mark(self._marks, f"{name} {os.getpid()}\n")
        await asyncio.sleep(0.02)
        if self._where == name:
            stand_still()
            await asyncio.sleep(0.02)
        return name


def mark(marks: str, line: str) -> None:
    """Add a line to the file."""
    with open(marks, "a") as file:
        file.write(line)


def registry(marks: str, where: str = "") -> Registry:
    """The node types there are, and `called`."""
    made = builtin_registry()
    made.node("called", NoConfig, lambda _config, _registry: Called(marks, where))
    return made


GRAPH = """
graph:
  id: standstill
  start: [first]
  nodes:
    - {id: first, type: called}
    - {id: beside, type: called}
    - {id: parts, type: called}
    - {id: tried, type: called, retry: {max_attempts: 3, min_wait: 50ms, max_wait: 50ms},
       on_error: continue}
    - {id: twice, type: loop, config: {max_rounds: 2}}
    - {id: done, type: called}
  edges:
    - {from: first, to: beside}
    - {from: first, to: parts}
    - {from: first, to: tried}
    - {from: beside, to: twice}
    - {from: tried, to: twice}
    - {from: parts, to: twice}
    - {from: twice, to: first, label: continue}
    - {from: twice, to: done, label: exit}
"""


def stand_still() -> None:
    """Until somebody sends SIGCONT."""
    os.kill(os.getpid(), signal.SIGSTOP)


def stopping(store: Store, after: int) -> Callable[[str], Callable[[AnyTick], Durable]]:
    """Writers of a store that stand still once so many steps are in the journal."""
    made, left = store.writer, after

    def writer(id: str) -> Callable[[AnyTick], Durable]:
        append = made(id)

        def record(tick: AnyTick) -> Durable:
            nonlocal left
            durable = append(tick)
            left -= isinstance(tick, Finished)
            if left == 0 and isinstance(tick, Finished):
                if isinstance(durable, asyncio.Future):
                    durable.add_done_callback(lambda _: stand_still())
                else:
                    stand_still()
            return durable

        return record

    return writer


async def main(db: str, session: str, marks: str, where: str) -> None:
    """Run the graph; what ends that is printed."""
    local_sessions.LEASE = LEASE
    known = registry(marks, where)
    async with Engine(db, registry=known) as engine:
        if where.isdigit():
            engine.store.writer = stopping(engine.store, int(where))  # type: ignore[method-assign, assignment]
        started = await engine.start(Graph.loads(GRAPH, registry=known), id=session)
        print((await started.result()).status)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
