"""Event streams: of one session, and of all that the caller may see."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from rondel.engine.core.state import ENDED
from rondel.server.access import Caller, Viewer
from rondel.server.channel import history
from rondel.server.openapi import errors
from rondel.server.replies import Refusal
from rondel.server.site import Site, SiteDep
from rondel.server.sse import RETRY, EventStream
from rondel.sessions.session import Session

router = APIRouter(tags=["events"])
LastId = Annotated[str | None, Header(description="The id of the last event that was seen.")]
EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "Of durable events; send it as Last-Event-ID."},
        "event": {"type": "string"},
        "data": {"type": "string", "description": "The envelope, as JSON."},
        "retry": {"type": "integer"},
    },
}
STREAM = {
    200: {
        "description": "Server-Sent Events; `data` is the envelope, `id` the durable event's.",
        "content": {"text/event-stream": {"schema": EVENT}},
    },
    204: {"description": "The session is over, and all was seen."},
}


@router.get(
    "/sessions/{id}/events",
    operation_id="watchSession",
    responses={**errors(404), **STREAM},  # type: ignore[dict-item]
    response_class=EventStream,
    status_code=200,
)
async def watch_session(
    id: str,
    site: SiteDep,
    caller: Viewer,
    last_event_id: LastId = None,
    after: Annotated[int, Query(ge=0, description="Only events after this number.")] = 0,
    follow: Annotated[bool, Query(description="False: only what there is now.")] = True,
) -> Response:
    """A session's events: history first, then live, until it ends."""
    session = site.session(id, caller)
    seen = _number(last_event_id, after)
    site.hub.demand_room()
    if session.status in ENDED:
        batches = await _rest(site, session, seen)
        if not batches and seen:
            return Response(None, 204)
        return _stream(site, _all(batches))
    if not follow:
        return _stream(site, _all(await _rest(site, session, seen)))
    return _stream(site, _live(site, caller, session, seen))


@router.get(
    "/events",
    operation_id="watchAll",
    responses={**errors(), 200: STREAM[200]},  # type: ignore[dict-item]
    response_class=EventStream,
    status_code=200,
)
async def watch_all(site: SiteDep, caller: Viewer, last_event_id: LastId = None) -> Response:
    """State changes, questions, locks and ends of all sessions, from now on or from an event on."""
    site.hub.demand_room()
    return _stream(site, _feed(site, caller, last_event_id))


def _number(last_event_id: str | None, after: int) -> int:
    if last_event_id is None or last_event_id == "":
        return after
    if not last_event_id.isdecimal() or len(last_event_id) > 18:
        raise Refusal(400, "bad_event_id", f"Last-Event-ID {last_event_id!r} is not a number")
    return int(last_event_id)


async def _rest(site: Site, session: Session, seen: int) -> list[bytes]:
    return [batch.sse async for batch in history(site.engine, session, seen)]


async def _all(batches: list[bytes]) -> AsyncGenerator[bytes, None]:
    yield RETRY
    for batch in batches:
        yield batch


async def _live(
    site: Site, caller: Caller, session: Session, seen: int
) -> AsyncGenerator[bytes, None]:
    async with site.hub.channel(session) as channel:
        yield RETRY
        async for batch in channel.read(seen):
            if batch.sse:
                if not await site.tokens.hold(caller):
                    return
                yield batch.sse


async def _feed(site: Site, caller: Caller, last_id: str | None) -> AsyncGenerator[bytes, None]:
    async with site.hub.reader():
        yield RETRY
        async for batch in site.hub.feed.read(last_id, caller.sees):
            if batch:
                if not await site.tokens.hold(caller):
                    return
                yield b"".join(batch)


def _stream(site: Site, content: AsyncGenerator[bytes, None]) -> Response:
    return EventStream(content, site.hub.heartbeat)
