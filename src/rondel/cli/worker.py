"""`rondel worker`: drive the sessions that servers and other processes submit."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Annotated

import typer

from rondel.cli.language import words
from rondel.cli.logs import LogFormat, log_as
from rondel.cli.options import AllowCommands, AllowPython, Db, Functions
from rondel.dispatch.dispatcher import CONCURRENCY, QUEUE
from rondel.dispatch.dispatchers import NAMES, PROCRASTINATE, dispatcher
from rondel.dispatch.worker import GRACE, Worker
from rondel.errors import CallError
from rondel.sessions.engine import Engine
from rondel.sessions.stores import default_database, is_address


def worker(
    db: Db = None,
    by: Annotated[
        str,
        typer.Option(
            "--dispatcher", metavar="NAME", help=f"Who brings them: {' or '.join(NAMES)}."
        ),
    ] = PROCRASTINATE,
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, help="Sessions under way at once.")
    ] = CONCURRENCY,
    per_group: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Of them, from one group; three quarters if not given."
        ),
    ] = None,
    queue: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only sessions of this queue.")
    ] = None,
    grace: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="How long steps have to end after a signal."),
    ] = GRACE,
    allow_python: AllowPython = False,
    allow_commands: AllowCommands = False,
    functions: Functions = None,  # noqa: ARG001
    log_format: LogFormat = None,
) -> int:
    """Drive sessions until SIGTERM or Ctrl-C; others go on with what is under way then."""
    log_as(log_format)
    url = db or default_database()
    if not is_address(url):
        raise CallError("a worker needs sessions in PostgreSQL; name them: --db postgresql://...")
    from rondel.server.secret_store import Secrets
    from rondel.server.server_database import open_server_database, place_of

    bringing = dispatcher(by, url)
    database = open_server_database(place_of(url))

    async def work() -> None:
        async with Engine(url, allow_python=allow_python, allow_commands=allow_commands) as engine:
            engine.use_environs(Secrets(database).fresh_environ)
            await bringing.open()
            try:
                working = Worker(engine, bringing, queue or [QUEUE], concurrency, per_group, grace)
                await _until_signalled(working, f"{engine.store}", concurrency)
            finally:
                await bringing.close()

    try:
        asyncio.run(work())
    finally:
        database.close()
    return 0


async def _until_signalled(working: Worker, store: str, most: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    told = "worker of {store}, up to {most} sessions; Ctrl-C ends it"
    print(words(told, store=store, most=most), file=sys.stderr, flush=True)
    await working.run(stop)
