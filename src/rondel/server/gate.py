"""The gate before all routes: who calls, from where, and how much at once."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from rondel.server.access import LOCAL
from rondel.server.site import Site


class Gate:
    """Lets requests in, with who sent them."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one socket."""
        if scope["type"] in ("http", "websocket"):
            scope["rondel.caller"] = LOCAL
        await self._app(scope, receive, send)
