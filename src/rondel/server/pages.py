"""The web pages: what `make web` has built, or a plain page that says so."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from rondel.server.problems import problem

PAGES = Path(__file__).parent / "pages"
INDEX = "index.html"
FOREVER = "public, max-age=31536000, immutable"
OURS = ("api/", "v1/", "mcp", "healthz", "readyz", "metrics", "openapi.json")
"""What never is a page."""

PLAIN = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Rondel</title>
<body><h1>Rondel</h1>
<p>The API is at <a href="/openapi.json">/api/v1</a>. The pages are not built:
run <code>make web</code>, then load this again.</p></body></html>
"""


def install(app: FastAPI, folder: Path = PAGES) -> None:
    """Serve the pages at `/`; a path that is no file is the page's own to understand."""
    root = folder.resolve()

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str, request: Request) -> Response:
        if path.startswith(OURS):
            return problem(404, "not_found", f"there is nothing at {request.url.path}")
        if not (folder / INDEX).is_file():
            return HTMLResponse(PLAIN, 200 if path == "" else 404)
        file = (folder / path).resolve()
        if path and file.is_file() and file.is_relative_to(root):
            cached = path.startswith("assets/")
            return FileResponse(file, headers={"Cache-Control": FOREVER if cached else "no-cache"})
        return FileResponse(folder / INDEX, headers={"Cache-Control": "no-cache"})
