"""The route of figures for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import generate_latest
from starlette.responses import Response

from rondel.server.access import Viewer
from rondel.server.problems import Refusal
from rondel.server.site import SiteDep

router = APIRouter(tags=["operations"])
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics", operation_id="metrics", response_class=Response)
async def metrics(site: SiteDep, caller: Viewer) -> Response:
    """Figures of this process for Prometheus."""
    if caller.groups is not None:
        raise Refusal(403, "forbidden", "metrics are all groups'; the token is of some only")
    site.metrics.driven.set(site.engine.under_way)
    site.metrics.streams.set(site.hub.readers)
    return Response(generate_latest(site.metrics.registry), 200, media_type=TEXT)
