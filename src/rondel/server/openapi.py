"""What the OpenAPI document says of errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from rondel.server.replies import MEDIA_TYPE
from rondel.server.schemas import Problem, ProblemLine

TEXTS = {
    304: "Nothing has changed.",
    400: "The call makes no sense.",
    401: "A token is needed.",
    403: "The token's role does not allow it.",
    404: "There is no such thing, or the caller may not see it.",
    408: "The request did not arrive in time.",
    409: "The state does not take it.",
    412: "Somebody changed it meanwhile.",
    413: "It is too large.",
    422: "The request or the graph in it is wrong; `errors` has all of it.",
    429: "Too much at once; see Retry-After.",
    503: "Not now; see Retry-After.",
    507: "The disk is full.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, besides those that every route may answer."""
    everywhere = (400, 401, 403, 408, 413, 421, 422, 429, 503, 507)
    found: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*everywhere, *statuses}):
        found[status] = {
            "description": TEXTS.get(status, "The address is not this server's."),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return found


def install(app: FastAPI) -> None:
    """Describe errors where the document refers to them, and what changes them."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes
            )
            models = {model.__name__: model for model in (Problem, ProblemLine)}
            for name, model in models.items():
                schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
                schema.pop("$defs", None)
                found["components"]["schemas"][name] = schema
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
