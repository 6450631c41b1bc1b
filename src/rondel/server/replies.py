"""Answers of routes: JSON, and problem+json with the sentences of the command line."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from rondel.errors import (
    CallError,
    Disconnected,
    GraphChanged,
    GraphError,
    GraphExists,
    JournalError,
    JournalFull,
    KeyReused,
    RondelError,
    SessionBusy,
    SessionError,
    UnknownGraph,
    UnknownSession,
    Unstorable,
    code_of,
    help_for,
)
from rondel.sessions.findings import problems_json

JSON = "application/json"


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


# Problems

AS_JSON = "send JSON, with Content-Type: application/json"
UNREADABLE = "There was an error parsing the body"
"""What FastAPI says of bytes that are no text, and of numbers and nesting beyond all bounds."""

MEDIA_TYPE = "application/problem+json"
log = logging.getLogger("rondel.server")

STATUSES: tuple[tuple[type[RondelError], int], ...] = (
    (UnknownSession, 404),
    (UnknownGraph, 404),
    (GraphExists, 409),
    (KeyReused, 409),
    (GraphChanged, 412),
    (GraphError, 422),
    (CallError, 400),
    (SessionBusy, 409),
    (Disconnected, 503),
    (SessionError, 409),
    (Unstorable, 400),
    (JournalFull, 507),
    (JournalError, 503),
)
"""The status of each error class; the first match counts."""

SOON = {409: None, 429: 1, 503: 2, 507: 60}
"""Seconds after which asking again may help, by status."""


class Refusal(Exception):
    """A request that the server does not take, and why."""

    def __init__(self, status: int, kind: str, detail: str, retry_after: float | None = None):
        self.status = status
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        super().__init__(detail)


def problem(
    status: int,
    kind: str,
    detail: str,
    errors: list[dict[str, Any]] | None = None,
    retry_after: float | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """An error as every route answers it."""
    body: dict[str, Any] = {
        "type": f"urn:rondel:problem:{kind}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "help": help_for(kind),
    }
    if errors is not None:
        body["errors"] = errors
    head = dict(headers or {})
    wait = SOON.get(status) if retry_after is None else retry_after
    if wait is not None:
        head["Retry-After"] = str(max(1, round(wait)))
    return Response(msgspec.json.encode(body), status, head, MEDIA_TYPE)


def explain(error: RondelError) -> Response:
    """The HTTP error of an error of Rondel."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    if isinstance(error, GraphError):
        shown = problems_json(error.problems)
        return problem(status, "graph_error", str(error), shown)
    return problem(status, code_of(type(error)), str(error))


def install(app: FastAPI) -> None:
    """Answer every error of an app this way."""

    async def own(request: Request, error: Exception) -> Response:
        assert isinstance(error, RondelError)  # noqa: S101
        if isinstance(error, GraphError):  # where the folder is on this machine is not told
            within = request.app.state.site.folder.within
            error = GraphError([within(problem) for problem in error.problems])
        return explain(error)

    async def refused(_request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)  # noqa: S101
        return problem(error.status, error.kind, error.detail, retry_after=error.retry_after)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        shown = [_complaint(each) for each in error.errors()]
        kind = request.headers.get("content-type", "")
        if isinstance(error.body, bytes | str) and "json" not in kind.lower():
            shown = [{"path": "body", "message": f"it is {kind or 'of no type'}; {AS_JSON}"}]
        detail = "; ".join(f"{each['path']}: {each['message']}" for each in shown)
        return problem(422, "invalid_request", detail or "the request is not valid", shown)

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        headers, detail = dict(error.headers or {}), str(error.detail)
        if error.status_code == 405 and (methods := methods_of(app, request.url.path)):
            headers["Allow"] = ", ".join(methods)
            detail = f"{request.method} is not possible here; there is {headers['Allow']}"
        elif detail == UNREADABLE:
            detail = f"the body cannot be read; {AS_JSON}, in UTF-8"
        return problem(error.status_code, "http_error", detail, headers=headers)

    async def unexpected(request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem(500, "unexpected", "something unexpected happened; the server's log has it")

    app.add_exception_handler(RondelError, own)
    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, unexpected)


def methods_of(app: FastAPI, path: str) -> list[str]:
    """What can be done at a path."""
    found: set[str] = set()
    for template, methods in app.openapi()["paths"].items():
        if compile_path(template)[0].match(path):
            found |= {method.upper() for method in methods}
    return sorted(found | {"HEAD"} if "GET" in found else found)


def _complaint(error: dict[str, Any]) -> dict[str, Any]:
    place = [str(part) for part in error.get("loc", ()) if part != "body"]
    return {"path": ".".join(place) or "body", "message": str(error.get("msg", ""))}
