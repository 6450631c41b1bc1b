"""Workers to be killed: each is forked from a process that has everything loaded.

    python -m tests.cluster.fleet URL MARKS LEASE CONCURRENCY [TEMPORAL]

Each line on its standard input is the name of a machine: a worker starts there, as far as anybody
can tell, and its process id is printed. The node type `mark` leaves a line in a file each time it
really runs.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import signal
import socket
import sys
import time
from typing import Any

from pydantic import BaseModel

from rondel import Emit, Message
from rondel.dispatch import worker
from rondel.dispatch.dispatcher import Dispatcher
from rondel.dispatch.procrastinate import ProcrastinateDispatcher
from rondel.dispatch.worker import Worker
from rondel.engine.registry import Registry
from rondel.sessions import local_sessions
from rondel.sessions.engine import Engine
from rondel.sessions.registry import builtin_registry

MINUTES = 300.0
"""How many seconds the clocks of machines may be wrong."""


class MarkConfig(BaseModel):
    """How long it takes."""

    seconds: float = 0.03


class Mark:
    """Says which run of it this was."""

    def __init__(self, config: MarkConfig, marks: str) -> None:
        self._seconds = config.seconds
        self._marks = marks

    async def process(self, ctx: Any) -> Emit:
        run = f"{secrets.token_hex(4)}-{os.getpid()}"
        line = f"{ctx.idempotency_key} {run}\n"
        handle = os.open(self._marks, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, line.encode())
        os.close(handle)
        await asyncio.sleep(self._seconds)
        return Emit([Message(run)])


def registry(marks: str) -> Registry:
    """The node types there are, and `mark`."""
    made = builtin_registry()
    made.node("mark", MarkConfig, lambda config, _registry: Mark(config, marks))
    return made


def bringing(url: str, lease: float, temporal: str = "") -> Dispatcher:
    """Temporal if there is an address of it, else procrastinate."""
    if not temporal:
        return ProcrastinateDispatcher(url, lease)
    from rondel.dispatch.temporal import TemporalDispatcher

    return TemporalDispatcher(lease, target_host=temporal)


async def work(url: str, marks: str, lease: float, concurrency: int, temporal: str) -> None:
    """A worker, until it is killed or told to stop."""
    dispatcher = bringing(url, lease, temporal)
    await dispatcher.open()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with Engine(url, registry=registry(marks)) as driving:
        await Worker(driving, dispatcher, concurrency=concurrency, grace=0.5).run(stop)
    await dispatcher.close()


def move_to(machine: str) -> None:
    """Be on that machine, whose clock is minutes wrong, as far as anybody can tell."""
    socket.gethostname = lambda: machine
    shown, wrong = time.time, random.Random(machine).uniform(-MINUTES, MINUTES)
    time.time = lambda: shown() + wrong


def main(url: str, marks: str, lease: float, concurrency: int, temporal: str = "") -> None:
    """Start a worker for every name that is read."""
    local_sessions.LEASE = lease
    worker.LOOK = min(worker.LOOK, lease / 4)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            move_to(line.strip())
            asyncio.run(work(url, marks, lease, concurrency, temporal))
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
