"""`rondel worker`: drive the sessions that servers and other processes submit."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Annotated

import typer

from rondel.cli.options import AllowPython, Db, Debug
from rondel.dispatch.dispatcher import CONCURRENCY, QUEUE
from rondel.dispatch.dispatchers import NAMES, PROCRASTINATE, dispatcher
from rondel.dispatch.worker import GRACE, Worker
from rondel.errors import CallError
from rondel.sessions.engine import Engine
from rondel.sessions.stores import default_database, is_address


def worker(
    db: Db = None,
    by: Annotated[
        str, typer.Option("--dispatcher", metavar="NAME", help=f"Who brings them: {NAMES[0]}.")
    ] = PROCRASTINATE,
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, help="Sessions under way at once.")
    ] = CONCURRENCY,
    queue: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only sessions of this queue.")
    ] = None,
    grace: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="How long sessions go on after a signal to stop."
        ),
    ] = GRACE,
    allow_python: AllowPython = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Drive sessions until SIGTERM or Ctrl-C; others go on with what is under way then."""
    url = db or default_database()
    if not is_address(url):
        raise CallError("a worker needs sessions in PostgreSQL; name them: --db postgresql://...")
    asyncio.run(_work(url, by, queue or [QUEUE], concurrency, grace, allow_python))
    return 0


async def _work(
    url: str, by: str, queues: list[str], concurrency: int, grace: float, allow_python: bool
) -> None:
    bringing = dispatcher(by, url)
    async with Engine(url, allow_python=allow_python) as engine:
        await bringing.open()
        try:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stop.set)
            name = getattr(engine.store, "name", "")
            print(f"worker of {name}, up to {concurrency} sessions", file=sys.stderr, flush=True)
            await Worker(engine, bringing, queues, concurrency, grace).run(stop)
        finally:
            await bringing.close()
