"""The OpenAI-compatible endpoint: a graph is a model, a question is the assistant's turn."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from rondel.errors import CallError, RondelError, WrongState
from rondel.server import schemas
from rondel.server.access import Caller, Operator, Viewer
from rondel.server.live_text import TOKENS
from rondel.server.openapi import TEXTS
from rondel.server.replies import MEDIA_TYPE, Refusal, explain, problem, reply
from rondel.server.session_reply import (
    SessionReply,
    round_text,
    session_reply,
    told_by,
    until_rest,
)
from rondel.server.site import Site, SiteDep
from rondel.server.sse import EventStream
from rondel.server.starting import start
from rondel.sessions.event import Event
from rondel.sessions.session import Session

router = APIRouter(prefix="/v1", tags=["openai"])
MARK = re.compile(r"\[session ([0-9a-f]{16,64}) #(\d{1,9})\]\s*$")
"""The end of a question, by which the next turn is known to answer it: the session, and the number
of the question in it."""


class ChatFault(BaseModel):
    """What went wrong."""

    message: str
    type: str
    code: str | None = None


class ChatError(BaseModel):
    """An error as clients of OpenAI's API read it."""

    error: ChatFault


PROBLEM = {"schema": {"$ref": "#/components/schemas/Problem"}}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ChatError, "content": {MEDIA_TYPE: PROBLEM}, "description": text}
    for status, text in {**TEXTS, 421: "The address is not this server's."}.items()
    if status not in (304, 412)
}


class ChatMessage(BaseModel):
    """A message."""

    model_config = ConfigDict(extra="allow")
    role: str
    content: Any = None


class ChatRequest(BaseModel):
    """What clients of OpenAI's API send; what is not named here is ignored."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(description="A stored graph.")
    messages: list[ChatMessage] = Field(min_length=1, description="The last user message counts.")
    stream: bool = Field(False, description="Whether it comes in pieces, as it is written.")
    stream_options: dict[str, Any] | None = Field(
        None, description="With `include_usage: true` the last piece says what it took."
    )
    metadata: dict[str, str] | None = Field(None, description="Kept as the session's labels.")


@router.get("/models", operation_id="listModels", response_model=dict[str, Any], responses=ERRORS)
async def list_models(site: SiteDep, caller: Viewer) -> Response:
    """Every stored graph that the caller may see, as a model."""
    files = site.folder.files(caller.groups).values()
    models = [
        {"id": file.id, "object": "model", "created": 0, "owned_by": "rondel"} for file in files
    ]
    return reply({"object": "list", "data": models})


@router.get(
    "/models/{id:path}", operation_id="getModel", response_model=dict[str, Any], responses=ERRORS
)
async def get_model(id: str, site: SiteDep, caller: Viewer) -> Response:
    """One of them."""
    try:
        file = site.folder.get(id, caller.groups)
    except RondelError as error:
        return _error(error)
    return reply({"id": file.id, "object": "model", "created": 0, "owned_by": "rondel"})


@router.post(
    "/chat/completions",
    operation_id="createChatCompletion",
    response_model=dict[str, Any],
    responses=ERRORS,
)
async def create_chat_completion(
    body: ChatRequest,
    site: SiteDep,
    caller: Operator,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=200, description="The same key never runs it twice."),
    ] = None,
) -> Response:
    """Run a graph on the last user message, or answer the question that came before it."""
    try:
        site.hub.demand_room()
        session, after = await _session(site, caller, body, idempotency_key)
    except (RondelError, Refusal) as error:
        return _error(error)
    if body.stream:
        wants_usage = bool((body.stream_options or {}).get("include_usage"))
        content = _chunks(site, caller, session, after, body.model, wants_usage)
        return EventStream(content, site.hub.heartbeat)
    async for _ in until_rest(site, caller, session, after):
        pass
    if not await site.tokens.hold(caller):
        return _error(Refusal(401, "unauthorized", "the token was revoked"))
    came = session_reply(site, session)
    if came.is_error:
        return _error(Refusal(422, came.status, f"{came.text} (session {session.id})"))
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": await _content(site, session, came)},
        "finish_reason": "stop",
    }
    whole = {**_head(session, body.model, "chat.completion"), "choices": [choice]}
    return reply({**whole, "usage": _usage(came), "rondel": came.to_json(session.id)})


async def _session(
    site: Site, caller: Caller, body: ChatRequest, key: str | None
) -> tuple[Session, int]:
    """The session that the conversation is about, and its newest event before this turn."""
    last = body.messages[-1]
    if last.role != "user":
        raise CallError("the last message must be the user's")
    text = _plain(last.content)
    asked = _asking(body.messages)
    if asked is not None:
        session = site.session(asked[0], caller)
        return session, await _answered(site, caller, session, asked[1], text)
    inputs: dict[str, Any] = {"task": text}
    if len(body.messages) > 1:
        inputs["messages"] = [m.model_dump() for m in body.messages]
    request = schemas.SessionRequest(graph_id=body.model, inputs=inputs, labels=body.metadata or {})
    started = await start(site, caller, request, key)
    return site.engine.get(started["id"]), 0


async def _answered(site: Site, caller: Caller, session: Session, number: int, text: str) -> int:
    """Answer a question by its number; the event after which the reply to it begins.

    A client that heard nothing asks again: an answer that was given is not given twice.
    """
    site.demand_open()
    told = await site.read(session, partial(told_by, site, session))
    if number > len(told.answers):
        await session.answer(text, by=caller.name)
        return told.last
    if told.answers[number - 1] != text:
        raise WrongState(
            f"question {number} of session {session.id} was answered otherwise; begin a new "
            "conversation, or go on from its newest question"
        )
    return told.turned - 1


def _asking(messages: list[ChatMessage]) -> tuple[str, int] | None:
    """The session whose question the last user message answers, and the question's number."""
    if len(messages) < 2 or messages[-2].role != "assistant":
        return None
    found = MARK.search(_plain(messages[-2].content))
    return None if found is None else (found[1], int(found[2]))


def _plain(content: Any) -> str:
    if isinstance(content, list):
        texts = [part.get("text", "") for part in content if isinstance(part, dict)]
        return "\n".join(str(text) for text in texts if text)
    return "" if content is None else str(content)


async def _content(site: Site, session: Session, came: SessionReply) -> str:
    if came.status == "waiting":
        told = await site.read(session, partial(told_by, site, session))
        return f"{came.text}\n\n[session {session.id} #{len(told.answers) + 1}]"
    return came.text


# Streaming


async def _chunks(
    site: Site, caller: Caller, session: Session, after: int, model: str, wants_usage: bool
) -> AsyncGenerator[bytes, None]:
    head = _head(session, model, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: %b\n\n" % msgspec.json.encode({**head, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""}, rondel={"session_id": session.id})
    async for event in until_rest(site, caller, session, after):
        thought = _thought(event)
        if thought:
            yield chunk({"reasoning_content": thought})
    if not await site.tokens.hold(caller):
        return
    came = session_reply(site, session)
    if came.is_error:
        error = {"message": f"{came.text} (session {session.id})", "type": came.status}
        yield b"data: %b\n\n" % msgspec.json.encode({"error": error})
        return
    yield chunk({"content": await _content(site, session, came)})
    yield chunk({}, "stop", rondel=came.to_json(session.id))
    if wants_usage:
        yield b"data: %b\n\n" % msgspec.json.encode({**head, "choices": [], "usage": _usage(came)})
    yield b"data: [DONE]\n\n"


def _thought(event: Event) -> str | None:
    """The progress shown as reasoning: words as they come, and a line for every round."""
    if event.event == TOKENS:
        return str(event.data["chunk"]) or "\n\n"  # what was said before is void
    if event.event == "node_state_change" and event.data["status"] == "running":
        return f"\n\n{event.address}:\n"
    line = round_text(event)
    return None if line is None else f"\n\n{line}\n"


def _head(session: Session, model: str, kind: str) -> dict[str, Any]:
    created = int(time.time())
    return {"id": f"chatcmpl-{session.id}", "object": kind, "created": created, "model": model}


def _usage(came: SessionReply) -> dict[str, int]:
    usage = came.result.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
    }


def _error(error: RondelError | Refusal) -> Response:
    """An error as clients of OpenAI's API read it."""
    if isinstance(error, Refusal):
        kind, detail = error.kind, error.detail
        told = problem(error.status, kind, detail, retry_after=error.retry_after)
    else:
        kind, detail, told = type(error).__name__, str(error), explain(error)
    headers = {name: told.headers[name] for name in ("Retry-After",) if name in told.headers}
    body = {"error": {"message": detail, "type": kind, "code": kind}}
    return reply(body, told.status_code, headers)
