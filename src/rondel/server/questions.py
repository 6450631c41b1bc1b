"""The route of questions: everything that waits for a person."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

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
KEPT = 512
STATES = ("waiting", "running", "paused", "suspended_locked")
"""States in which questions may be open; others than the first only in sessions of this process."""


@router.get(
    "/questions",
    operation_id="listQuestions",
    response_model=schemas.QuestionList,
    responses=errors(),
)
async def list_questions(site: SiteDep, caller: Viewer) -> Response:
    """Everything that waits for a person, all sessions, oldest first."""
    found: list[dict[str, Any]] = []
    for row in _rows(site, caller):
        found += _asked(site, row)
    found.sort(key=lambda question: str(question["asked_at"]))
    return reply({"questions": found})


def _rows(site: Site, caller: Caller) -> list[SessionRow]:
    rows: list[SessionRow] = []
    for status in STATES:
        before: str | None = None
        while len(rows) < MOST:
            page = site.engine.sessions(status, before=before, limit=PAGE)
            seen = filter(caller.sees, page.rows)
            rows += [row for row in seen if status == "waiting" or _is_here(site, row)]
            before = page.next
            if before is None:
                break
    return rows


def _is_here(site: Site, row: SessionRow) -> bool:
    return row.status != "running" or site.engine.get(row.id).drive is not None


def _asked(site: Site, row: SessionRow) -> list[dict[str, Any]]:
    known = site.asked.get(row.id)
    if known is None or known[0] != row.length:
        session = site.engine.get(row.id)
        state = state_of(site.engine, session)
        since = to_microsecond(row.updated_at)
        about = {"session_id": row.id, "graph_id": row.graph_id, "asked_at": since}
        known = row.length, [{**about, **fields} for fields in open_questions(state)]
        if len(site.asked) >= KEPT:
            del site.asked[next(iter(site.asked))]
        site.asked[row.id] = known
    return known[1]
