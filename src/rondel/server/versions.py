"""The route of versions: the copies of a graph that its sessions keep."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from rondel.errors import GraphError
from rondel.journal.store import SessionRow
from rondel.server.access import Caller, Viewer
from rondel.server.openapi import errors
from rondel.server.replies import reply
from rondel.server.site import Site, SiteDep
from rondel.sessions.graphs_folder import GraphFile
from rondel.sessions.versions import versions_in

router = APIRouter(tags=["graphs"])
VERSION_PAGES = 10
"""Pages of 500 sessions among which versions are looked for."""


class VersionView(BaseModel):
    """One version of a graph, and the sessions that ran on it."""

    version: str
    text: str
    current: bool = Field(description="Whether it is what the stored file says.")
    sessions: int
    statuses: dict[str, int]
    first_used: str | None
    last_used: str | None


class VersionList(BaseModel):
    """The versions of a graph, the stored one first, then the newest."""

    versions: list[VersionView]
    complete: bool = Field(description="Whether all its sessions were looked at.")


@router.get(
    "/graphs/{id:path}/versions",
    operation_id="listVersions",
    response_model=VersionList,
    responses=errors(404),
)
async def list_versions(id: str, site: SiteDep, caller: Viewer) -> Response:
    """The versions of a graph: the copies that its newest sessions keep, and the stored one."""
    rows, complete = await asyncio.to_thread(_newest, site, caller, id)
    file = site.folder.files(caller.groups).get(id)
    if file is None and not rows:
        site.folder.get(id, caller.groups)  # says that there is none, and the nearest name
    versions = await asyncio.to_thread(versions_in, rows, _stored(site, file))
    return reply({"versions": versions, "complete": complete})


# Inside


def _newest(site: Site, caller: Caller, graph_id: str) -> tuple[list[SessionRow], bool]:
    """The newest sessions of a graph that a caller may see, and whether these are all."""
    rows: list[SessionRow] = []
    cursor: str | None = None
    for _ in range(VERSION_PAGES):
        page = site.engine.sessions(None, graph_id, cursor, 500)
        rows += [row for row in page.rows if caller.sees(row)]
        cursor = page.next
        if cursor is None:
            return rows, True
    return rows, False


def _stored(site: Site, file: GraphFile | None) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What a session of the stored graph would keep; None while it cannot be read."""
    if file is None:
        return None
    try:
        stored = site.folder.load(file, demand_secrets=False).stored
    except GraphError:
        return None
    return stored.document, stored.includes
