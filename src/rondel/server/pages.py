"""The web pages: what `make web` has built, or a plain page that says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from rondel.server.replies import problem

PAGES = Path(__file__).parent / "pages"
INDEX = "index.html"
FOREVER = "public, max-age=31536000, immutable"
OURS = ("/api/", "/v1/", "/mcp", "/healthz", "/readyz", "/metrics", "/openapi.json")
"""Paths that are never pages."""

PLAIN = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Rondel</title>
<body><h1>Rondel</h1>
<p>The API is at <a href="/openapi.json">/api/v1</a>. The pages are not built:
run <code>make web</code>, then load this again.</p></body></html>
"""


class Pages:
    """Answers paths without a route."""

    def __init__(self, folder: Path) -> None:
        self._root = folder.resolve()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "nothing is here"})
            return
        reply = await asyncio.to_thread(self._reply, scope["method"], scope["path"])
        await reply(scope, receive, send)

    def _reply(self, method: str, path: str) -> Response:
        """A file, or the page that understands all other paths."""
        if method not in ("GET", "HEAD") or path.startswith(OURS):
            return problem(404, "not_found", f"there is nothing at {path}")
        if not (self._root / INDEX).is_file():
            return HTMLResponse(PLAIN, 200 if path == "/" else 404)
        file = (self._root / path.lstrip("/").replace("\0", "")).resolve()
        if file.is_file() and file.is_relative_to(self._root):
            cached = path.startswith("/assets/")
            return FileResponse(file, headers={"Cache-Control": FOREVER if cached else "no-cache"})
        return FileResponse(self._root / INDEX, headers={"Cache-Control": "no-cache"})


def install(app: FastAPI, folder: Path = PAGES) -> None:
    """Serve the pages where there is no route; a path that is no file is the page's own."""
    app.router.default = Pages(folder)
