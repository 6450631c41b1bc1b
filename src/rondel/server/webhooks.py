"""Routes of webhooks: who is told that sessions wait, are locked, or are over."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from rondel.graph.moments import to_microsecond
from rondel.server.access import Admin, Caller
from rondel.server.hooks import Webhook
from rondel.server.idempotency import Key, once
from rondel.server.openapi import errors
from rondel.server.replies import Refusal, reply
from rondel.server.schemas import In
from rondel.server.site import Site, SiteDep

router = APIRouter(tags=["webhooks"])


class WebhookRequest(In):
    """Where to send what."""

    url: str = Field(max_length=2000, description="The address that is told.")
    events: list[str] = Field([], max_length=20, description="Default: all.")


class WebhookView(BaseModel):
    """A webhook."""

    id: str
    url: str
    events: list[str]
    created_at: str


class NewWebhook(WebhookView):
    """A webhook, and this once its secret."""

    secret: str


class WebhookList(BaseModel):
    """All webhooks."""

    webhooks: list[WebhookView]


class Delivery(BaseModel):
    """One thing that was to be told."""

    id: str
    event: str
    session_id: str
    created_at: str
    attempts: int
    next_attempt: str | None
    status: str
    note: str


class DeliveryList(BaseModel):
    """Deliveries, newest first."""

    deliveries: list[Delivery]


@router.get(
    "/webhooks", operation_id="listWebhooks", response_model=WebhookList, responses=errors()
)
async def list_webhooks(site: SiteDep, caller: Admin) -> Response:
    """All webhooks."""
    return reply({"webhooks": [_json(hook) for hook in await site.hooks.seen_by(caller)]})


@router.post(
    "/webhooks",
    operation_id="createWebhook",
    status_code=201,
    response_model=NewWebhook,
    responses=errors(409),
)
async def create_webhook(
    body: WebhookRequest, site: SiteDep, caller: Admin, key: Key = None
) -> Response:
    """Tell an address what happens; its secret, which signs every message, is told this once."""

    async def make() -> Response:
        await asyncio.to_thread(site.hooks.check, body.url)
        made = await site.hooks.create(body.url, body.events, caller)
        return reply({**_json(made), "secret": made.secret}, 201)

    return await once(site, caller, key, "webhooks", body, make)


@router.delete(
    "/webhooks/{id}", operation_id="deleteWebhook", status_code=204, responses=errors(404)
)
async def delete_webhook(id: str, site: SiteDep, caller: Admin) -> Response:
    """Tell it nothing any more."""
    await _demand(site, caller, id)
    await site.hooks.delete(id)
    return Response(None, 204)


@router.get(
    "/webhooks/{id}/deliveries",
    operation_id="listDeliveries",
    response_model=DeliveryList,
    responses=errors(404),
)
async def list_deliveries(
    id: str,
    site: SiteDep,
    caller: Admin,
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 100,
) -> Response:
    """What it was told, and what became of it."""
    await _demand(site, caller, id)
    return reply({"deliveries": await site.deliveries.of(id, limit)})


def _json(hook: Webhook) -> dict[str, Any]:
    return {
        "id": hook.id,
        "url": hook.url,
        "events": list(hook.events),
        "created_at": to_microsecond(hook.created_at),
    }


async def _demand(site: Site, caller: Caller, id: str) -> None:
    if id not in [hook.id for hook in await site.hooks.seen_by(caller)]:
        raise Refusal(404, "unknown_webhook", f"there is no webhook {id!r}")
