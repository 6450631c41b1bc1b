"""Running the server: a uvicorn that ends its streams at once when it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from sse_starlette.sse import AppStatus
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import RequestResponseCycle

from rondel.dispatch.dispatcher import Dispatcher
from rondel.dispatch.dispatchers import dispatcher
from rondel.dispatch.submitting import SubmittingEngine
from rondel.errors import CallError
from rondel.server.app import create_app
from rondel.server.connections import Connection
from rondel.server.options import Options
from rondel.server.server_database import open_server_database, place_of
from rondel.server.site import Site
from rondel.sessions.engine import Engine
from rondel.sessions.news import telling
from rondel.sessions.stores import is_address, open_store

AppStatus.enable_automatic_graceful_drain = False  # MCP's streams end with their sessions

GARBAGE = 20_000, 20, 100
"""The garbage collector's thresholds: an event makes hundreds of objects and no cycles."""


class Server(uvicorn.Server):
    """Ends streams as soon as a signal comes: uvicorn itself would wait for them."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site
        self._loop: asyncio.AbstractEventLoop | None = None
        site.hub.heartbeat.cut = self._cut
        site.hub.heartbeat.writer = self._writer

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is there now stays; to look through it again and again costs
        gc.set_threshold(*GARBAGE)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._site.hub.close)

    def _cut(self, scope: Scope) -> None:
        """Abort a request's connection; closing would wait for a slow client."""
        cycle = self._cycle(scope)
        if cycle is not None:
            cycle.transport.abort()

    def _writer(self, scope: Scope) -> Callable[[bytes], bool] | None:
        """What writes chunks of a streamed response to its connection, as uvicorn would.

        It returns False where the client has to be waited for: then send the chunk in the usual
        way. To go through ASGI and h11 takes twice the time of a chunk (`benchmarks.server_load`).
        """
        cycle = self._cycle(scope)
        if not isinstance(cycle, RequestResponseCycle) or scope["http_version"] != "1.1":
            return None
        flow, transport = cycle.flow, cycle.transport

        def write(chunk: bytes) -> bool:
            if flow.write_paused or cycle.disconnected or not chunk:
                return False
            transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            return True

        return write

    def _cycle(self, scope: Scope) -> Any:
        """What uvicorn has of a request."""
        for connection in list(self.server_state.connections):
            cycle: Any = getattr(connection, "cycle", None)  # a web socket has none
            if cycle is not None and cycle.scope["state"] is scope["state"]:
                return cycle
        return None


def serve(
    db: str | None, graphs_dir: str, options: Options, begun: Callable[[], object] = bool
) -> None:
    """Serve until a signal comes; `begun` is called once there is nothing in the way of it."""
    asyncio.run(_serve(db, graphs_dir, options, begun))


async def _serve(
    db: str | None, graphs_dir: str, options: Options, begun: Callable[[], object]
) -> None:
    bringing = _bringing(db, options)
    store, _ = telling(open_store(db, "normal"))
    allowed: dict[str, Any] = {
        "allow_python": options.allow_python,
        "allow_commands": options.allow_commands,
    }
    if bringing is None:
        await _listen(Engine(store, **allowed), db, graphs_dir, options, begun)
        return
    await bringing.open()
    try:
        engine = SubmittingEngine(store, bringing, options.queue, **allowed)
        await _listen(engine, db, graphs_dir, options, begun)
    finally:
        await bringing.close()


def _bringing(db: str | None, options: Options) -> Dispatcher | None:
    """The dispatcher of the server's sessions, if there is one."""
    if options.dispatcher is None:
        return None
    if db is None or not is_address(db):
        raise CallError(
            "only sessions in PostgreSQL can be left to workers; name them: --db postgresql://..."
        )
    return dispatcher(options.dispatcher, db)


async def _listen(
    engine: Engine,
    db: str | None,
    graphs_dir: str,
    options: Options,
    begun: Callable[[], object],
) -> None:
    database = open_server_database(None if db is None else place_of(db))
    app = create_app(engine, graphs_dir, options, database)
    site: Site = app.state.site
    if site.needs_tokens and not await site.tokens.exist():
        raise CallError(
            f"at {options.host} everybody could call this server: first make a token, "
            "rondel tokens create NAME --role admin"
        )
    server = server_of(app, options)
    with _listening(options) as listening:
        begun()
        await server.serve([listening])


def serve_tools(db: str | None, graphs_dir: str, *, allow_python: bool) -> None:
    """Offer the graphs as MCP tools on standard input and output, until that is closed."""
    asyncio.run(_serve_tools(db, graphs_dir, Options(allow_python=allow_python, grace=5.0)))


async def _serve_tools(db: str | None, graphs_dir: str, options: Options) -> None:
    from rondel.server.mcp import over_stdio

    store, news = telling(open_store(db, "normal"))
    engine = Engine(store, allow_python=options.allow_python, allow_commands=options.allow_commands)
    database = open_server_database(None if db is None else place_of(db))
    site = Site(engine, graphs_dir, options, database)
    news.listener = site.hub
    await site.open()
    try:
        await over_stdio(site)
    finally:
        await site.close()


def server_of(app: FastAPI, options: Options) -> Server:
    """The server of an app."""
    config = uvicorn.Config(
        app,
        host=options.host,
        port=options.port,
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        ws_max_size=options.limits.body,
        lifespan="on",
    )
    return Server(config, app.state.site)


def _listening(options: Options) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # what is sent goes out at once; asyncio sees to that on sockets of its own only
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        found.bind((options.host.strip("[]"), options.port))
    except OSError as error:
        found.close()
        raise CallError(
            f"{options.host}:{options.port} cannot be listened at: {error.strerror or error}; "
            "choose another --port"
        ) from error
    found.listen(2048)
    return found
