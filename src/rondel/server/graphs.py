"""Routes of graphs: stored ones, and what is known of any before it runs."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import yaml
from fastapi import APIRouter, Header
from starlette.responses import Response

from rondel.certificate import certify
from rondel.errors import CallError, GraphChanged, GraphError
from rondel.forecast.estimate import Estimate, estimate
from rondel.forecast.figures import simulation_json
from rondel.forecast.simulation import simulate
from rondel.graph.json_schema import json_schema
from rondel.server import schemas
from rondel.server.access import Admin, Caller, Viewer
from rondel.server.etags import names
from rondel.server.idempotency import Key, once
from rondel.server.openapi import errors
from rondel.server.replies import Refusal, reply
from rondel.server.site import Site, SiteDep
from rondel.server.sources import graph_of, text_of, with_provider
from rondel.sessions.findings import findings_of, lints_in, unbounded_loops
from rondel.sessions.graph import Graph
from rondel.sessions.graphs_folder import GraphFile
from rondel.sessions.labels import as_inputs
from rondel.sessions.registry import default_registry
from rondel.sessions.structure import structure_of
from rondel.sessions.templates import summary_of, templates

router = APIRouter(tags=["graphs"])
Tag = Annotated[str | None, Header(description="The ETag that the change is based on.")]


@router.get(
    "/graphs", operation_id="listGraphs", response_model=schemas.GraphList, responses=errors()
)
async def list_graphs(site: SiteDep, caller: Viewer) -> Response:
    """All stored graphs."""
    files = site.folder.files(caller.groups).values()
    return reply({"graphs": [_summary(file) for file in files]})


@router.post(
    "/graphs",
    operation_id="createGraph",
    status_code=201,
    response_model=schemas.GraphDetail,
    responses=errors(409),
)
async def create_graph(
    body: schemas.GraphText, site: SiteDep, caller: Admin, key: Key = None
) -> Response:
    """Store a new graph, as it is written."""

    async def make() -> Response:
        file = site.folder.create(_text(site, body), body.name, caller.groups)
        where = f"/api/v1/graphs/{quote(file.id, safe='')}"
        headers = {"ETag": f'"{file.etag}"', "Location": where}
        return reply(_detail(site, file), 201, headers)

    return await once(site, caller, key, "graphs", body, make)


@router.get(
    "/graphs/{id:path}",
    operation_id="getGraph",
    response_model=schemas.GraphDetail,
    responses={**errors(404), 304: {"description": "Nothing has changed."}},
)
async def get_graph(id: str, site: SiteDep, caller: Viewer, if_none_match: Tag = None) -> Response:
    """A stored graph: its text, and what a check of it finds."""
    file = site.folder.get(id, caller.groups)
    tag = {"ETag": f'"{file.etag}"'}
    if if_none_match is not None and names(if_none_match, file.etag):
        return Response(None, 304, tag)
    return reply(_detail(site, file), 200, tag)


@router.put(
    "/graphs/{id:path}",
    operation_id="replaceGraph",
    response_model=schemas.GraphDetail,
    responses={**errors(404, 409, 412), 201: {"model": schemas.GraphDetail}},
)
async def replace_graph(
    id: str,
    body: schemas.GraphText,
    site: SiteDep,
    caller: Admin,
    if_match: Tag = None,
    if_none_match: Annotated[
        str | None, Header(description="`*`: only if there is no such graph yet.")
    ] = None,
) -> Response:
    """Change a stored graph; with If-Match only if nobody else has changed it meanwhile."""
    text = _text(site, body)
    known = site.folder.files(caller.groups).get(id)
    if known is not None and if_none_match is not None and names(if_none_match, known.etag):
        raise GraphChanged(f"there is a graph {id!r} already; read it, and send its ETag")
    if known is None and if_match is None:
        file = site.folder.create(text, body.name, caller.groups, demanded=id)
        return reply(_detail(site, file), 201, {"ETag": f'"{file.etag}"'})
    file = site.folder.replace(id, text, _demanded(known, if_match), caller.groups)
    return reply(_detail(site, file), 200, {"ETag": f'"{file.etag}"'})


@router.delete(
    "/graphs/{id:path}", operation_id="deleteGraph", status_code=204, responses=errors(404, 412)
)
async def delete_graph(id: str, site: SiteDep, caller: Admin, if_match: Tag = None) -> Response:
    """Remove a stored graph; its sessions keep their copies."""
    known = site.folder.files(caller.groups).get(id)
    site.folder.delete(id, _demanded(known, if_match), caller.groups)
    return Response(None, 204)


@router.post(
    "/graphs/check",
    operation_id="checkGraph",
    response_model=schemas.Findings,
    responses=errors(404),
)
async def check_graph(body: schemas.GraphSource, site: SiteDep, caller: Viewer) -> Response:
    """All that is wrong with a graph, and the certificate of what it can take."""
    return reply(await site.compute(partial(_check, site, caller, body)))


@router.post(
    "/graphs/estimate",
    operation_id="estimateGraph",
    response_model=schemas.EstimateReply,
    responses=errors(404),
)
async def estimate_graph(body: schemas.GraphSource, site: SiteDep, caller: Viewer) -> Response:
    """What a run takes at most, and what is to be expected."""
    return reply(await site.compute(partial(_estimated, site, caller, body)))


@router.post(
    "/graphs/simulate",
    operation_id="simulateGraph",
    response_model=dict[str, Any],
    responses=errors(404),
)
async def simulate_graph(
    body: schemas.SimulationRequest, site: SiteDep, caller: Viewer
) -> Response:
    """Many runs on simulated models: rounds, exit reasons, cost, what is never taken."""
    most = site.options.limits.simulations
    if body.n > most:
        raise Refusal(422, "too_many_runs", f"a simulation may have {most:,} runs; ask for fewer")
    opener = partial(_simulated, site, caller, body)
    inputs = as_inputs(body.inputs) or None
    seconds = site.options.limits.computing_time
    run = partial(simulate, opener, body.n, body.seed, inputs, jobs=1, seconds=seconds)
    return reply(simulation_json(await site.compute(run)))


@router.get("/schema", operation_id="getSchema", response_model=dict[str, Any], responses=errors())
async def get_schema(_caller: Viewer) -> Response:
    """The JSON Schema of graph files."""
    return reply(json_schema(default_registry()))


@router.get(
    "/templates",
    operation_id="listTemplates",
    response_model=schemas.TemplateList,
    responses=errors(),
)
async def list_templates(_caller: Viewer) -> Response:
    """Commented graph files to start from."""
    found = [(name, file.read_text("utf-8")) for name, file in templates().items()]
    shown = [{"name": name, "summary": summary_of(text), "text": text} for name, text in found]
    return reply({"templates": shown})


# Inside


def _text(site: Site, body: schemas.GraphText) -> str:
    if (body.text is None) == (body.graph is None):
        raise CallError("send the graph: either its `text`, or the document as `graph`")
    given = body.text if body.text is not None else body.graph
    if isinstance(given, dict):
        given = yaml.safe_dump(given, sort_keys=False, allow_unicode=True, width=100)
    return text_of(site, given or "")


def _demanded(file: GraphFile | None, if_match: str | None) -> str | None:
    """The ETag that a graph must still have when it is written; None if any will do."""
    if file is None or if_match is None:
        return if_match
    return file.etag if names(if_match, file.etag) else if_match


def _summary(file: GraphFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "name": file.name,
        "description": file.description,
        "etag": file.etag,
    }


def _detail(site: Site, file: GraphFile) -> dict[str, Any]:
    try:
        graph = site.folder.load(file, demand_secrets=False)
    except GraphError as error:
        found = msgspec.to_builtins(findings_of(_inside(site, error.problems)))
    else:
        found = _found(site, graph, file.name, strict=False)
    return {**_summary(file), "text": file.text, "check": {"structure": None, **found}}


def _check(site: Site, caller: Caller, body: schemas.GraphSource) -> dict[str, Any]:
    try:
        graph = graph_of(site, caller, body.graph, body.graph_id, demand_secrets=False)
    except GraphError as error:
        found = msgspec.to_builtins(findings_of(_inside(site, error.problems)))
        return {"structure": None, **found}
    return _found(site, graph, "", strict=body.strict)


def _found(site: Site, graph: Graph, name: str, *, strict: bool) -> dict[str, Any]:
    certificate = certify(graph.plan())
    wrong = unbounded_loops(name, certificate) if strict else []
    odd = _inside(site, [*graph.warnings, *lints_in(name, graph, certificate)])
    found: dict[str, Any] = msgspec.to_builtins(findings_of(wrong, odd, certificate))
    structure = structure_of(graph)
    return {**found, "loops": structure["loops"], "structure": structure}


def _inside(site: Site, problems: Any) -> list[Any]:
    """Problems whose files are named as they are in the folder."""
    return [site.folder.within(problem) for problem in problems]


def _estimated(site: Site, caller: Caller, body: schemas.GraphSource) -> Estimate:
    opener = partial(_opened, site, caller, body)
    seconds = site.options.limits.computing_time
    return estimate(opener(), opener, site.engine.store, caller.sees, seconds)


def _opened(site: Site, caller: Caller, body: schemas.GraphSource) -> Graph:
    return graph_of(site, caller, body.graph, body.graph_id, demand_secrets=False)


def _simulated(site: Site, caller: Caller, body: schemas.GraphSource) -> Graph:
    if body.graph_id is not None and body.graph is None:
        file = site.folder.get(body.graph_id, caller.groups)
        return with_provider(site, file.text, "simulated", file.name)
    return graph_of(site, caller, body.graph, body.graph_id, "simulated")
