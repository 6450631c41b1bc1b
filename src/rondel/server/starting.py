"""Starting a session, whoever asks for it: once a key, in the caller's group, if it may run."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import msgspec

from rondel.errors import JournalError, KeyReused
from rondel.journal.store import SessionRow
from rondel.server import schemas
from rondel.server.access import GROUP, Caller
from rondel.server.site import Site
from rondel.server.sources import runnable
from rondel.sessions.labels import KEYS, as_inputs
from rondel.sessions.overview import LABELS

KEY = "idempotency"


async def start(
    site: Site, caller: Caller, body: schemas.SessionRequest, key: str | None = None
) -> dict[str, str]:
    """Start a session, or find the one that the key stands for; its id and its status."""
    site.demand_open()
    inputs = as_inputs(body.inputs)
    labels = _labels(caller, body, inputs)
    own = "" if key is None else _keyed(caller, key)
    if key is not None:
        labels[KEY] = _digest(body)
        row = site.engine.store.session(own)
        if row is not None:
            return _again(row, labels[KEY], key)
    site.demand_room()
    await site.secrets.refresh()
    graph = await asyncio.to_thread(
        runnable, site, caller, body.graph, body.graph_id, body.provider, labels.get(GROUP)
    )
    if site.needs_tokens:
        labels[KEYS] = sorted(graph.environment)
    try:
        session = await site.engine.start(graph, inputs, debug=body.debug, labels=labels, id=own)
    except JournalError:
        row = site.engine.store.session(own) if own else None
        if row is None:
            raise
        return _again(row, labels[KEY], key or "")
    return {"id": session.id, "status": session.status}


def _labels(caller: Caller, body: schemas.SessionRequest, inputs: dict[str, Any]) -> dict[str, Any]:
    labels: dict[str, Any] = {}
    if body.labels:
        labels[LABELS] = body.labels
    group = body.group or inputs.get("group_id")
    if caller.groups is not None:
        group = group or min(caller.groups, default=None)
        for named in (group, inputs.get("group_id", group)):
            caller.demand_group(named)
    if group is not None:
        labels[GROUP] = str(group)
    return labels


def _keyed(caller: Caller, key: str) -> str:
    """The session id for an idempotency key of a caller."""
    return sha256(f"{caller.tenant}\0\0{key}".encode()).hexdigest()[:32]


def _digest(body: schemas.SessionRequest) -> str:
    asked = body.model_dump(exclude={"idempotency_key"})
    return sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:32]


def _again(row: SessionRow, digest: str, key: str) -> dict[str, str]:
    if row.labels.get(KEY) != digest:
        raise KeyReused(f"the idempotency key {key!r} stood for another request; use a new one")
    return {"id": row.id, "status": row.status}
