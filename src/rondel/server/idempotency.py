"""Idempotency keys: who asks again with the same key gets the same answer, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Annotated

import msgspec
from fastapi import Header
from pydantic import BaseModel
from starlette.responses import Response

from rondel.errors import KeyReused
from rondel.server.access import Caller
from rondel.server.replies import Refusal
from rondel.server.server_database import ServerDatabase
from rondel.server.site import Site

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="The same key with the same request gets the same answer, for a day.",
    ),
]
KEPT = 86_400.0
"""Seconds for which an answer is kept."""

UNDER_WAY = 60.0
"""Seconds after which a request that has no answer yet is taken for lost."""


HEADERS = ("Location", "ETag")


async def once(
    site: Site,
    caller: Caller,
    key: str | None,
    what: str,
    body: BaseModel,
    make: Callable[[], Awaitable[Response]],
) -> Response:
    """The result of `make`, or its earlier result for this key.

    A request that is refused leaves no trace: the key can be used again.
    """
    if key is None:
        return await make()
    own = sha256(f"{caller.tenant}\0\0{what}\0\0{key}".encode()).hexdigest()
    asked = msgspec.json.encode(body.model_dump(mode="json"), order="sorted")
    before = await _reserve(site.database, own, sha256(asked).hexdigest(), key)
    if before is not None:
        return before
    try:
        answer = await make()
    except BaseException:
        await site.database.write(("DELETE FROM rondel.reply WHERE key = ?", own))
        raise
    headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    await site.database.write(
        (
            "UPDATE rondel.reply SET status = ?, headers = ?, body = ? WHERE key = ?",
            *(answer.status_code, json.dumps(headers), bytes(answer.body), own),
        )
    )
    return answer


async def _reserve(database: ServerDatabase, own: str, digest: str, key: str) -> Response | None:
    """The kept answer of the key; None if the key is now reserved for this request."""
    now = database.now()
    lost = "DELETE FROM rondel.reply WHERE key = ? AND status IS NULL AND created_at < ?"
    *_, made = await database.write(
        ("DELETE FROM rondel.reply WHERE created_at < ?", now - KEPT),
        (lost, own, now - UNDER_WAY),
        (
            "INSERT INTO rondel.reply (key, digest, created_at) VALUES (?, ?, ?) "
            "ON CONFLICT (key) DO NOTHING",
            *(own, digest, now),
        ),
    )
    if made:
        return None
    asks = "SELECT digest, status, headers, body FROM rondel.reply WHERE key = ?"
    rows = await database.rows(asks, own)
    asked, status, headers, body = rows[0] if rows else (digest, None, None, None)
    if asked != digest:
        raise KeyReused(f"the idempotency key {key!r} stood for another request; use a new one")
    if status is None:
        raise Refusal(409, "under_way", f"the request with the key {key!r} is under way", 1.0)
    return Response(body, status, json.loads(headers), "application/json")
