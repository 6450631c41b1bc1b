"""Drafts over HTTP: Rondel inside a FastAPI application of one's own.

Run it with `uvicorn app:app`. Sessions are kept in a file: drafts that wait for an answer, or that
a crash cut off, are there again after a restart.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

from rondel import Engine, Graph, RondelError, Session

GRAPH = Graph.load(Path(__file__).with_name("graph.yaml"))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One engine for the whole application; it goes on with what the last one left."""
    async with Engine(db=os.environ.get("DRAFTS_DB", "drafts.db")) as engine:
        app.state.engine = engine
        await engine.recover()
        yield


app = FastAPI(lifespan=lifespan)


class Topic(BaseModel):
    """What to write about."""

    topic: str


class Answer(BaseModel):
    """What a person says to a draft."""

    text: str


def session_of(request: Request, id: str) -> Session:
    """The session of that id, or 404."""
    engine: Engine = request.app.state.engine
    try:
        return engine.get(id)
    except RondelError as error:
        raise HTTPException(404, str(error)) from None


def session_json(session: Session) -> dict[str, Any]:
    """A draft as this application shows it."""
    now = session.snapshot()
    asks = [{"node": each.node_id, "text": each.description} for each in session.questions()]
    return {"id": session.id, "status": now.status, "output": now.output, "asks": asks}


@app.post("/drafts", status_code=202)
async def start(request: Request, topic: Topic) -> dict[str, Any]:
    """Start a draft, and wait until it asks somebody or is done."""
    engine: Engine = request.app.state.engine
    session = await engine.start(GRAPH, topic.topic)
    await session.settled()
    return session_json(session)


@app.get("/drafts/{id}")
async def show(request: Request, id: str) -> dict[str, Any]:
    """A draft as it stands."""
    return session_json(session_of(request, id))


@app.post("/drafts/{id}/answer")
async def answer(request: Request, id: str, answer: Answer) -> dict[str, Any]:
    """Answer the open question, and wait for what follows."""
    session = session_of(request, id)
    try:
        await session.answer(answer.text)
    except RondelError as error:
        raise HTTPException(409, str(error)) from None
    await session.settled()
    return session_json(session)
