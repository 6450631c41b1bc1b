"""The route of foreign graphs: a file of another system, translated."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from rondel.formats import TITLES, recognised, translate_file
from rondel.formats.referenced_files import nothing_beside
from rondel.server.access import Viewer
from rondel.server.openapi import errors
from rondel.server.replies import Refusal, reply
from rondel.server.schemas import In
from rondel.server.site import SiteDep
from rondel.server.sources import text_of

router = APIRouter(tags=["graphs"])


class ForeignGraph(In):
    """A graph file of another system."""

    text: str = Field(description="What the file holds.")
    name: str = Field("graph.yaml", max_length=200, description="How the file is called.")


class TranslatedGraph(BaseModel):
    """The same graph as a file of this system; nothing is stored."""

    source: str = Field(description="Whose file it was.")
    text: str
    changes: list[str] = Field(description="What is written differently now.")
    left_out: list[str] = Field(description="What nothing here corresponds to.")


@router.post(
    "/graphs/import",
    operation_id="importGraph",
    response_model=TranslatedGraph,
    responses=errors(),
)
async def import_graph(body: ForeignGraph, site: SiteDep, _caller: Viewer) -> Response:
    """Translate a graph file of ChatDev or Council; it is neither stored nor run."""
    text = text_of(site, body.text)
    return reply(await asyncio.to_thread(_translated, text, body.name))


def _translated(text: str, name: str) -> dict[str, Any]:
    with TemporaryDirectory(prefix="rondel-import-") as folder:
        suffix = ".json" if name.endswith(".json") else ".yaml"
        file = Path(folder, f"graph{suffix}")
        file.write_text(text, "utf-8", "replace")
        source = recognised(str(file))
        if source is None:
            known = " or ".join(TITLES.values())
            raise Refusal(
                422, "not_foreign", f"{name} is no graph file of {known}; open it as it is"
            )
        with nothing_beside():
            translation = translate_file(str(file), source)
    data = translation.data
    return {
        "source": source,
        "text": yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100),
        "changes": [change.message for change in translation.changes],
        "left_out": [warning.message for warning in translation.warnings],
    }
