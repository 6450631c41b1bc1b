"""The route of questions: everything that waits for a person."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from rondel.errors import CallError
from rondel.graph.moments import to_microsecond
from rondel.journal.store import SessionRow
from rondel.server import schemas
from rondel.server.access import Caller, Viewer
from rondel.server.openapi import errors
from rondel.server.replies import reply
from rondel.server.site import Site, SiteDep
from rondel.sessions.overview import open_questions, state_of

router = APIRouter(tags=["questions"])
MOST, PAGE = 1000, 200
STATES = ("waiting", "running", "paused", "suspended_locked")
"""States in which questions may be open; in running sessions only this process knows of them."""


@router.get(
    "/questions",
    operation_id="listQuestions",
    response_model=schemas.QuestionList,
    responses=errors(),
)
async def list_questions(
    site: SiteDep,
    caller: Viewer,
    cursor: Annotated[str | None, Query(description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST, description="Of at most so many sessions.")] = MOST,
) -> Response:
    """Everything that waits for a person, all sessions, oldest first, a page at a time."""
    after = (0.0, "") if cursor is None else _place_in(cursor)
    rows = [row for row in await _rows(site, caller) if _place(row) > after]
    found: list[msgspec.Raw] = []
    for row in rows[:limit]:
        found += await _asked(site, row)
    more = len(rows) > limit
    return reply({"questions": found, "next": _cursor(rows[limit - 1]) if more else None})


# Inside


def _place(row: SessionRow) -> tuple[float, str]:
    return row.updated_at, row.id


def _cursor(row: SessionRow) -> str:
    return f"{row.updated_at!r}-{row.id}"


def _place_in(cursor: str) -> tuple[float, str]:
    time, _, session = cursor.partition("-")
    try:
        return float(time), session
    except ValueError as error:
        raise CallError(f"there is no page {cursor!r}; take `next` of the page before") from error


async def _rows(site: Site, caller: Caller) -> list[SessionRow]:
    """The sessions that may have questions, those first that have waited longest."""
    rows: list[SessionRow] = []
    for status in STATES:
        before: str | None = None
        while True:
            page = site.engine.sessions(status, before=before, limit=PAGE)
            rows += [row for row in page.rows if caller.sees(row) and _may_ask(site, row)]
            before = page.next
            if before is None:
                break
            await asyncio.sleep(0)
    return sorted(rows, key=_place)


def _may_ask(site: Site, row: SessionRow) -> bool:
    if row.status != "running":
        return True
    session = site.engine.driven(row.id)
    return session is not None and session.drive is not None and bool(session.drive.state.questions)


async def _asked(site: Site, row: SessionRow) -> list[msgspec.Raw]:
    """The open questions of a session, as JSON; nothing of it is read again until it goes on."""
    known = site.asked.get(row.id)
    if known is not None and known.length == row.length:
        return known.questions
    await asyncio.sleep(0)
    state = state_of(site.engine, site.engine.get(row.id))
    about = {
        "session_id": row.id,
        "graph_id": row.graph_id,
        "asked_at": to_microsecond(row.updated_at),
    }
    fresh = [_json({**about, **fields}) for fields in open_questions(state)]
    site.asked.keep(row.id, row.length, fresh)
    return fresh


def _json(question: dict[str, Any]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(question))
