"""Whether the server lives, and whether it takes work."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from rondel.errors import RondelError
from rondel.server.problems import Refusal
from rondel.server.replies import reply
from rondel.server.site import SiteDep

router = APIRouter(tags=["operations"])


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
        raise Refusal(503, "not_ready", f"the database does not answer: {error}", 5.0) from error
    return reply({"status": "ready"})
