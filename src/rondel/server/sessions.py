"""Routes of sessions: start one, find them again, and look at their past."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from rondel.errors import CallError, JournalError
from rondel.journal.store import SessionRow
from rondel.server import schemas
from rondel.server.access import Caller, Operator, Viewer
from rondel.server.openapi import errors
from rondel.server.replies import reply
from rondel.server.site import Site, SiteDep
from rondel.server.starting import start
from rondel.sessions.archive import write_session
from rondel.sessions.overview import (
    LABELS,
    loops_of,
    open_questions,
    overview_of,
    row_overview,
)
from rondel.sessions.records import result_of
from rondel.sessions.session import Session
from rondel.sessions.versions import version_of

router = APIRouter(tags=["sessions"])
SCANNED = 5000
"""Rows that a search looks at for one page."""


@router.post(
    "/sessions",
    operation_id="startSession",
    status_code=202,
    response_model=schemas.SessionState,
    responses=errors(404, 409),
)
async def start_session(
    body: schemas.SessionRequest,
    site: SiteDep,
    caller: Operator,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=200, description="The same as the field of the body."),
    ] = None,
) -> Response:
    """Start a session; it goes on by itself."""
    started = await start(site, caller, body, body.idempotency_key or idempotency_key)
    return reply(started, 202, {"Location": f"/api/v1/sessions/{started['id']}"})


@router.get(
    "/sessions",
    operation_id="listSessions",
    response_model=schemas.SessionPage,
    responses=errors(),
)
async def list_sessions(
    site: SiteDep,
    caller: Viewer,
    status: Annotated[schemas.Status | None, Query(description="Only those in this state.")] = None,
    graph_id: Annotated[str | None, Query(description="Only those of this graph.")] = None,
    label: Annotated[str | None, Query(description="`name`, or `name:value`.")] = None,
    q: Annotated[str | None, Query(description="In the id, the graph or the inputs.")] = None,
    version: Annotated[str | None, Query(description="Only those of that graph version.")] = None,
    cursor: Annotated[str | None, Query(description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="At most so many.")] = 50,
) -> Response:
    """Sessions, newest first, a page at a time."""
    wanted = _wanted(caller, label, q, version)
    rows: list[SessionRow] = []
    scanned = 0
    try:
        while True:
            size = limit - len(rows) if wanted is None else max(limit, 200)
            page = site.engine.sessions(status, graph_id, cursor, size)
            fitting = [row for row in page.rows if wanted is None or wanted(row)]
            if wanted is not None and len(rows) + len(fitting) > limit:
                return _cut(site, rows, (status, graph_id, cursor), limit, wanted)
            rows += fitting
            scanned += len(page.rows)
            cursor = page.next
            if cursor is None or len(rows) >= limit or scanned >= SCANNED:
                break
    except (ValueError, OverflowError, JournalError) as error:
        raise CallError(f"there is no page {cursor!r}; take `next` of the page before") from error
    return _page(site, rows, cursor)


@router.get(
    "/sessions/{id}",
    operation_id="getSession",
    response_model=schemas.SessionDetail,
    responses=errors(404),
)
async def get_session(id: str, site: SiteDep, caller: Viewer) -> Response:
    """All that there is to a session but its steps, rounds and events."""
    session = site.session(id, caller)
    return reply(overview_of(site.engine, session))


@router.get(
    "/sessions/{id}/steps",
    operation_id="listSteps",
    response_model=schemas.StepList,
    responses=errors(404),
)
async def list_steps(
    id: str,
    site: SiteDep,
    caller: Viewer,
    node: Annotated[str | None, Query(description="Only those of this node.")] = None,
    address: Annotated[
        str | None, Query(description="Only that at this address, and those below it.")
    ] = None,
    offset: Annotated[int, Query(ge=0, description="Without the first so many.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many.")] = 1000,
) -> Response:
    """Every step with what it saw and produced, in an order that is the same for every timing."""
    session = site.session(id, caller)
    steps = await site.read(session, session.steps)
    if node is not None:
        steps = [step for step in steps if step.node_id == node]
    if address is not None:
        below = f"{address}/"
        steps = [s for s in steps if s.address == address or s.address.startswith(below)]
    return reply({"steps": steps[offset : offset + limit], "total": len(steps)})


@router.get(
    "/sessions/{id}/rounds",
    operation_id="listRounds",
    response_model=schemas.RoundList,
    responses=errors(404),
)
async def list_rounds(id: str, site: SiteDep, caller: Viewer) -> Response:
    """Every round of every loop, with its score, cost and duration."""
    session = site.session(id, caller)
    return reply({"rounds": await site.read(session, session.rounds)})


@router.get(
    "/sessions/{id}/state",
    operation_id="getState",
    response_model=schemas.StateAt,
    responses=errors(404),
)
async def get_state(
    id: str,
    site: SiteDep,
    caller: Viewer,
    at: Annotated[str | None, Query(description="An address; default: now.")] = None,
) -> Response:
    """A session as it was at an address, rebuilt from its journal."""
    session = site.session(id, caller)
    return reply(await site.read(session, lambda: _state(session, at)))


@router.get(
    "/sessions/{id}/export",
    operation_id="exportSession",
    responses={
        **errors(404),
        200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}},
    },
    response_class=Response,
)
async def export_session(id: str, site: SiteDep, caller: Viewer) -> Response:
    """A session as a file that `rondel import` reads."""
    session = site.session(id, caller)

    def written() -> bytes:
        stream = io.BytesIO()
        write_session(site.engine.store, session.row, stream)
        return stream.getvalue()

    name = f'attachment; filename="{session.id}.jsonl"'
    content = await site.read(session, written)
    return Response(content, 200, {"Content-Disposition": name}, "application/x-ndjson")


# Inside


Wanted = Callable[[SessionRow], bool]


def _wanted(caller: Caller, label: str | None, q: str | None, version: str | None) -> Wanted | None:
    if caller.groups is None and not label and not q and not version:
        return None
    name, _, value = (label or "").partition(":")
    needle = (q or "").casefold()

    def fits(row: SessionRow) -> bool:
        own = row.labels.get(LABELS) or {}
        if name and (name not in own or (value and str(own[name]) != value)):
            return False
        if version and version_of(row.document, row.includes) != version:
            return False
        text = f"{row.id} {row.graph_id} {msgspec.json.encode(row.inputs).decode()}"
        return caller.sees(row) and needle in text.casefold()

    return fits


def _cut(
    site: Site,
    rows: list[SessionRow],
    asked: tuple[str | None, str | None, str | None],
    limit: int,
    wanted: Wanted,
) -> Response:
    """The page ends in the middle of a page of the store: find the cursor of that place."""
    status, graph_id, cursor = asked
    while len(rows) < limit:
        page = site.engine.sessions(status, graph_id, cursor, 1)
        rows += [row for row in page.rows if wanted(row)]
        cursor = page.next
    return _page(site, rows, cursor)


def _page(site: Site, rows: list[SessionRow], cursor: str | None) -> Response:
    shown = [row_overview(row, site.engine.driver_of(row.id)) for row in rows]
    return reply({"sessions": shown, "next": cursor})


def _state(session: Session, at: str | None) -> dict[str, Any]:
    past = session.past
    state = past.state_at(past.length if at is None else past.position_of(at))
    fields = msgspec.to_builtins(result_of(session.id, state))
    del fields["session_id"]
    return {**fields, "at": at, "loops": loops_of(state), "questions": open_questions(state)}
