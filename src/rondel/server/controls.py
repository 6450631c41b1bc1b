"""Routes of controls: what can be done to a session from outside."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from fastapi import APIRouter
from starlette.responses import Response

from rondel.server import schemas
from rondel.server.access import Caller, Operator
from rondel.server.idempotency import Key, once
from rondel.server.openapi import errors
from rondel.server.policy import demand_allowed
from rondel.server.replies import Refusal, reply
from rondel.server.site import Site, SiteDep
from rondel.sessions.controls import Answer, AnyControl, Pause, Resume, Signal, Stop, Unlock
from rondel.sessions.fork import plan_fork
from rondel.sessions.session import Session

router = APIRouter(tags=["controls"], prefix="/sessions/{id}")


def _route(name: str, model: type = schemas.SessionState, status: int = 200) -> dict[str, object]:
    return {
        "operation_id": f"{name}Session",
        "response_model": model,
        "responses": errors(404, 409),
        "status_code": status,
    }


@router.post("/pause", **_route("pause"))  # type: ignore[arg-type]
async def pause_session(id: str, site: SiteDep, caller: Operator) -> Response:
    """Start no further step; steps under way finish."""
    return await _carried_out(site, caller, id, Pause(caller.name))


@router.post("/resume", **_route("resume"))  # type: ignore[arg-type]
async def resume_session(
    id: str, site: SiteDep, caller: Operator, body: schemas.ResumeRequest | None = None
) -> Response:
    """Go on after a pause, a failed step, or the end of the process that drove the session."""
    free = body is not None and body.free
    return await _carried_out(site, caller, id, Resume(caller.name, free))


@router.post("/stop", **_route("stop"))  # type: ignore[arg-type]
async def stop_session(id: str, site: SiteDep, caller: Operator) -> Response:
    """End the session; steps under way are cancelled."""
    return await _carried_out(site, caller, id, Stop(caller.name))


@router.post("/answer", **_route("answer"))  # type: ignore[arg-type]
async def answer_session(
    id: str, body: schemas.AnswerRequest, site: SiteDep, caller: Operator
) -> Response:
    """Answer the oldest open question, or that of a node."""
    return await _carried_out(site, caller, id, Answer(caller.name, body.text, body.node))


@router.post("/unlock", **_route("unlock"))  # type: ignore[arg-type]
async def unlock_session(
    id: str, body: schemas.UnlockRequest, site: SiteDep, caller: Operator
) -> Response:
    """Open the circuit breaker's lock: say why, or confirm exactly three checks."""
    control = Unlock(caller.name, body.risk_justification, body.safety_checks)
    return await _carried_out(site, caller, id, control)


@router.post("/signal", **_route("signal"))  # type: ignore[arg-type]
async def signal_session(
    id: str, body: schemas.SignalRequest, site: SiteDep, caller: Operator
) -> Response:
    """Tell the session something that later steps can read."""
    return await _carried_out(site, caller, id, Signal(caller.name, body.name, body.data))


@router.post("/fork", **_route("fork", schemas.Forked, 201))  # type: ignore[arg-type]
async def fork_session(
    id: str, body: schemas.ForkRequest, site: SiteDep, caller: Operator, key: Key = None
) -> Response:
    """A new session that shares this one's past up to an address."""
    site.demand_open()
    site.demand_room()
    parent = site.session(id, caller)
    if not caller.may("admin") and any(path.startswith("nodes.") for path in body.set):
        raise Refusal(403, "forbidden", "to change a node's config needs the role admin")

    async def make() -> Response:
        if body.set:
            await _demand_may_set(site, caller, parent, body)
        child = await site.engine.fork(parent, body.at, body.set, run=body.run)
        headers = {"Location": f"/api/v1/sessions/{child.id}"}
        fields = {"id": child.id, "status": child.status, "parent": child.row.parent}
        return reply(fields, 201, headers)

    return await once(site, caller, key, f"fork {id}", body, make)


@router.post("/promote", **_route("promote", schemas.Promoted))  # type: ignore[arg-type]
async def promote_session(
    id: str, body: schemas.PromoteRequest, site: SiteDep, caller: Operator, key: Key = None
) -> Response:
    """Put what a finished step emitted into the working memory of its session's group."""
    site.session(id, caller)

    async def make() -> Response:
        entries = await site.engine.promote(id, body.address, body.confidence)
        return reply({"entries": [asdict(entry) for entry in entries]})

    return await once(site, caller, key, f"promote {id}", body, make)


async def _demand_may_set(
    site: Site, caller: Caller, parent: Session, body: schemas.ForkRequest
) -> None:
    """Refuse what the caller could not have started either."""
    fork = plan_fork(parent, body.at, body.set)
    if "group_id" in fork.inputs:
        caller.demand_group(fork.inputs["group_id"])
    if fork.graph is not parent.graph:
        await asyncio.to_thread(demand_allowed, site, caller, fork.graph, stored=True)


async def _carried_out(site: Site, caller: Caller, id: str, control: AnyControl) -> Response:
    session = site.session(id, caller)
    site.demand_open()
    await session.control(control)
    return reply({"id": id, "status": session.status})
