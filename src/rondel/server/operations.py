"""The routes of operations: is the server alive, is it ready, and its figures for Prometheus."""

from __future__ import annotations

import asyncio
import logging

from fastapi import APIRouter
from prometheus_client import generate_latest
from starlette.responses import Response

from rondel.errors import RondelError
from rondel.server.access import Viewer
from rondel.server.replies import Refusal, reply
from rondel.server.site import SiteDep

log = logging.getLogger("rondel.server")
router = APIRouter(tags=["operations"])
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz", operation_id="health", response_model=dict[str, str])
async def health() -> Response:
    """Whether the process lives."""
    return reply({"status": "ok"})


@router.get("/readyz", operation_id="ready", response_model=dict[str, str])
async def ready(site: SiteDep) -> Response:
    """Whether the server takes work: it has recovered, and its database answers."""
    if site.hub.closing or not site.ready:
        raise Refusal(503, "not_ready", "the server is starting or going away", 1.0)
    try:
        site.engine.store.sessions(limit=1)
    except RondelError as error:
        log.warning("the database does not answer: %s", error)
        raise Refusal(503, "not_ready", "the database does not answer; see the log", 5.0) from error
    if (trouble := site.engine.store.trouble) is not None:
        log.warning("nothing can be written: %s", trouble)
        raise Refusal(503, "not_ready", "the database takes no writes; see the log", 5.0)
    return reply({"status": "ready"})


@router.get("/metrics", operation_id="metrics", response_class=Response)
async def metrics(site: SiteDep, caller: Viewer) -> Response:
    """Figures of this process for Prometheus."""
    if caller.groups is not None:
        raise Refusal(403, "forbidden", "metrics are all groups'; the token is of some only")
    site.metrics.count(await asyncio.to_thread(site.engine.store.statuses))
    site.metrics.driven.set(site.engine.under_way)
    site.metrics.streams.set(site.hub.readers)
    return Response(generate_latest(site.metrics.registry), 200, media_type=TEXT)
