"""The reference of the HTTP routes, from the OpenAPI document, with a call of each.

The calls are in route_examples.yaml; a test makes them on a real server.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from build_docs.commands import ASK, STUCK, TEA
from rondel import Engine
from rondel.server.app import create_app

EXAMPLES = Path(__file__).with_name("route_examples.yaml")
GRAPHS = {"ask": ASK, "stuck": STUCK, "tea": TEA}
"""What the server of the examples has in its folder."""

SECTIONS = {
    "Graphs": ("/api/v1/graphs", "/api/v1/schema", "/api/v1/templates"),
    "Sessions": ("/api/v1/sessions", "/api/v1/questions"),
    "Events and insights": ("/api/v1/events", "/api/v1/insights"),
    "Who calls": ("/api/v1/me", "/api/v1/login", "/api/v1/logout"),
    "Secrets and webhooks": ("/api/v1/secrets", "/api/v1/webhooks"),
    "As a model of OpenAI's": ("/v1/",),
    "The process": ("/healthz", "/readyz", "/metrics"),
}
HEAD = """\
# HTTP

Every route with its fields, from the server's OpenAPI document (`/openapi.json`, which has all types), and a call of each that a test makes. Errors are `application/problem+json`: `type`, `title`, `status`, `detail`, and `errors` with all that is wrong with a request or a graph; `help` leads to [a section for each](errors.md). Refusals that pass carry `Retry-After`.

`POST /sessions` takes `idempotency_key` (or the header `Idempotency-Key`): the same key never starts a second session, and another request under it is refused with 409. `PUT` and `DELETE` of graphs take `If-Match`; what somebody else changed meanwhile is refused with 412.

In the calls, names in capitals such as `TEA` stand for ids that an earlier answer gave, and `…` for what differs from call to call. Answers are shown in part. The graphs `tea`, `ask` and `stuck` are those of [the commands](commands.md).

Beside these routes there are two that OpenAPI cannot describe: `WS /api/v1/sessions/{id}/ws` tells the events of a session after `?after=N`, and `{"do": "pause", "ref": 1}` and the like control it, answered by `{"reply": 1, "ok", "status", "problem"}`; `/mcp` is MCP over streamable HTTP.
"""


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of a server."""
    with tempfile.TemporaryDirectory() as folder:
        return create_app(Engine(db=None), folder).openapi()


@cache
def calls() -> list[dict[str, Any]]:
    """The calls, in the order in which they work."""
    found: list[dict[str, Any]] = yaml.safe_load(EXAMPLES.read_text("utf-8"))
    return found


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every route: its method, its path and what it is."""
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def route_of(call: str) -> tuple[str, str]:
    """The route that a call goes to; a path without a parameter comes first."""
    method, target = call.split(" ", 1)
    path = target.partition("?")[0]
    found = [route for called, route, _ in operations() if called == method and fits(route, path)]
    return method, min(found, key=lambda route: route.count("{"))


def fits(route: str, path: str) -> bool:
    """Whether a path is one of a route."""
    pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(route))
    return re.fullmatch(pattern, path) is not None


def page() -> str:
    """docs/reference/http.md."""
    shown: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for call in calls():
        if call.get("shown", True):
            shown.setdefault(route_of(call["call"]), []).append(call)
    parts = [HEAD]
    for title, beginnings in SECTIONS.items():
        parts.append(f"\n## {title}\n")
        for method, path, operation in operations():
            if path.startswith(beginnings):
                parts.append(_route(method, path, operation, shown.get((method, path), [])))
    return "".join(parts)


def _route(
    method: str, path: str, operation: dict[str, Any], examples: list[dict[str, Any]]
) -> str:
    text = f"\n### `{method} {path}`\n\n{operation['description']}\n"
    rows = [*_parameters(operation), *_body(operation)]
    if rows:
        text += "\n| | in | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    return text + "".join(map(_example, examples))


def _parameters(operation: dict[str, Any]) -> Iterator[str]:
    for field in operation.get("parameters", []):
        if field["in"] == "path":
            continue
        told = field.get("description") or field["schema"].get("description", "")
        yield _row(field["name"], field["in"], told, required=field.get("required", False))


def _body(operation: dict[str, Any]) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {})
    schema = _resolved(content.get("application/json", {}).get("schema", {}))
    for name, field in schema.get("properties", {}).items():
        told = field.get("description", "")
        yield _row(name, "body", told, required=name in schema.get("required", ()))


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The object that a body is, also where it may be left out."""
    for branch in schema.get("anyOf", []):
        if "$ref" in branch:
            return _resolved(branch)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _resolved(document()["components"]["schemas"][name])
    return schema


def _row(name: str, place: str, told: str, *, required: bool) -> str:
    cells = (f"`{name}`" + (" (required)" if required else ""), place, told.replace("|", "\\|"))
    return "| " + " | ".join(cells) + " |"


def _example(call: dict[str, Any]) -> str:
    lines = [call["call"]]
    if "send" in call:
        lines.append(json.dumps(call["send"], ensure_ascii=False))
    lines += ["", str(call.get("status", 200))]
    if "answer" in call:
        lines.append(json.dumps(call["answer"], ensure_ascii=False))
    if "has" in call:
        lines.append(f"… {call['has']} …")
    return "\n```text\n" + "\n".join(lines).rstrip() + "\n```\n"
