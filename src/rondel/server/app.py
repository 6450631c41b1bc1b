"""The app: one router a resource, and a site that they share."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp

from rondel.server import (
    chat,
    controls,
    graphs,
    imports,
    insights,
    logins,
    openapi,
    operations,
    pages,
    questions,
    replies,
    secrets,
    sessions,
    sockets,
    streams,
    versions,
    webhooks,
)
from rondel.server.gate import Gate
from rondel.server.mcp import over_http
from rondel.server.options import Options
from rondel.server.server_database import ServerDatabase, open_server_database
from rondel.server.site import Site
from rondel.sessions.engine import Engine
from rondel.sessions.news import NewsStore

PREFIX = "/api/v1"
ROUTERS = (
    streams.router,  # first: routes are tried in turn
    versions.router,
    sessions.router,
    controls.router,
    graphs.router,
    questions.router,
    insights.router,
    logins.router,
    secrets.router,
    webhooks.router,
)


def create_app(
    engine: Engine,
    graphs_dir: str | os.PathLike[str],
    options: Options | None = None,
    database: ServerDatabase | None = None,
) -> FastAPI:
    """The server of an engine and a folder of graphs; without a database it keeps nothing else."""
    site = Site(engine, graphs_dir, options or Options(), database or open_server_database(None))

    tools = over_http(site)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await site.open()
        async with tools.run():
            yield
        await site.close()

    app = FastAPI(
        title="Rondel",
        version=version("rondel"),
        summary="An engine for multi-agent workflows whose graphs contain loops.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.site = site
    if isinstance(engine.store, NewsStore):
        engine.store.listener = site.hub
        engine.store.took = site.metrics.commits.observe
        engine.store.stepped = site.metrics.stepped
    replies.install(app)
    openapi.install(app)
    api = APIRouter(prefix=PREFIX)
    for router in ROUTERS:
        api.include_router(router)
    api.include_router(imports.router)
    api.include_router(sockets.router)
    app.include_router(api)
    app.include_router(operations.router)
    app.include_router(chat.router)
    endpoint: Any = StreamableHTTPASGIApp(tools)
    # by POST alone: where nothing is kept between requests, a stream of its own would tell nothing
    app.add_route("/mcp", endpoint, methods=["POST"], include_in_schema=False)
    pages.install(app)
    app.add_middleware(Gate, site=site)
    return app
