"""The gate before all routes: checks caller, origin, host name, size and rate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rondel.errors import RondelError
from rondel.server.access import LOCAL, Caller
from rondel.server.replies import Refusal, problem
from rondel.server.site import Site

log = logging.getLogger("rondel.server")

COOKIE = "rondel_login"
SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/healthz", "/readyz")
"""Paths that are open to anybody."""

GUARDED = ("/api/", "/v1/", "/mcp", "/metrics")
"""Paths that need a caller; all others are pages and the OpenAPI document."""

UNCALLED = ("/api/v1/login", "/api/v1/logout", "/api/v1/me")
"""Paths for a browser that is not logged in yet."""

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
HEAD = "rondel.head"
"""Marks a request that wants the head of an answer only."""

BODY_PATIENCE = 30.0
"""Seconds in which a request must have arrived."""


class Gate:
    """Lets in requests with a known caller; refuses all others with a clear error."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one socket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        guarded = _Guarded(send)
        if scope.get("method") == "HEAD":  # as GET, without what it says
            scope, guarded.is_head = {**scope, "method": "GET", HEAD: True}, True
        try:
            headers = Headers(scope=scope)
            self._check_host(scope, headers)
            origin = self._check_origin(scope, headers)
            guarded.origin = origin
            if origin is not None and scope.get("method") == "OPTIONS":
                await _preflight(scope, receive, guarded)
                return
            caller = await self._caller(scope, headers)
            scope["rondel.caller"] = caller
            self._check_rate(scope, caller)
            if scope["type"] == "http":
                receive = await self._body(scope, headers, receive)
        except Refusal as refusal:
            await _refuse(scope, receive, guarded, refusal)
            return
        except RondelError as error:
            log.warning("who calls cannot be found out: %s", error)
            away = Refusal(503, "not_ready", "who calls cannot be found out; see the log", 5.0)
            await _refuse(scope, receive, guarded, away)
            return
        await self._app(scope, receive, guarded)

    # Names and pages

    def _check_host(self, scope: Scope, headers: Headers) -> None:
        """A page elsewhere whose name leads here (DNS rebinding) is not let in."""
        if scope["path"] in OPEN:
            return
        options = self._site.options
        name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        if name in options.hosts or name == options.host.strip("[]").lower():
            return
        if name == "localhost" and options.is_loopback:
            return
        if _is_address(name, loopback=options.is_loopback) and not options.hosts:
            return
        if not options.is_loopback and not options.hosts:
            return  # names are not known, and a token is needed by any of them
        raise Refusal(
            421, "wrong_host", f"this server is not {name!r}; allow the name with --allow-host"
        )

    def _check_origin(self, scope: Scope, headers: Headers) -> str | None:
        """A page of another origin may call only if that origin was allowed."""
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") in ("cross-site", "same-site") and (
                scope.get("method", "GET") not in SAFE
            ):
                raise Refusal(403, "wrong_origin", "pages of other sites may not call this server")
            return None
        parts = urlsplit(origin)
        if parts.netloc and parts.netloc == headers.get("host"):
            return None
        if origin in self._site.options.origins:
            return origin
        raise Refusal(
            403, "wrong_origin", f"pages of {origin} may not call this server; see --allow-origin"
        )

    # Who calls

    async def _caller(self, scope: Scope, headers: Headers) -> Caller | None:
        tokens = self._site.tokens
        given = headers.get("authorization")
        if given is not None:
            kind, _, text = given.partition(" ")
            if not tokens.knows(text.strip()):
                self._check_rate(scope, None)  # to look for it costs more than to send it
            caller = await tokens.caller(text.strip()) if kind.lower() == "bearer" else None
            if caller is None and not self._site.needs_tokens and kind.lower() == "bearer":
                caller = self._local_key(text.strip())
            if caller is None:
                raise Refusal(401, "unauthorized", "the token is not known, or was revoked")
            return caller
        caller = await self._from_cookie(scope, headers)
        if caller is not None:
            return caller
        if not self._site.needs_tokens:
            return LOCAL
        path: str = scope["path"]
        if path.startswith(GUARDED) and path not in UNCALLED:
            raise Refusal(401, "unauthorized", "a token is needed: Authorization: Bearer TOKEN")
        return None

    def _local_key(self, text: str) -> Caller | None:
        """The local caller for any key but a token of ours: clients of other systems must send
        one."""
        return None if text.startswith("rondel_") else LOCAL

    async def _from_cookie(self, scope: Scope, headers: Headers) -> Caller | None:
        word = login_of(headers.get("cookie"))
        if not word:
            return None
        self._check_rate(scope, None)
        caller = await self._site.tokens.logged_in(word)
        unsafe = scope["type"] == "websocket" or scope["method"] not in SAFE
        own_page = "origin" in headers or headers.get("sec-fetch-site") == "same-origin"
        if caller is not None and unsafe and not own_page:
            raise Refusal(403, "wrong_origin", "a cookie counts only with the page's origin")
        return caller

    # How much

    def _check_rate(self, scope: Scope, caller: Caller | None) -> None:
        if scope["path"] in OPEN:
            return
        self._site.demand_rate(caller, scope.get("client"))

    async def _body(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        """The request with its body, which is here as a whole and not too large."""
        if scope["method"] in ("GET", "HEAD", "DELETE", "OPTIONS"):
            return receive
        most = self._site.options.limits.body
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            raise Refusal(413, "too_large", f"a request may have {most:,} bytes; this has more")
        try:
            async with asyncio.timeout(BODY_PATIENCE):
                body = await _read(receive, most)
        except TimeoutError:
            raise Refusal(408, "too_slow", "the request did not arrive in time") from None
        return _replay(body, receive)


def login_of(cookies: str | None) -> str | None:
    """The login in a browser's cookies."""
    if not cookies:
        return None
    try:
        found = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value


def _is_address(name: str, *, loopback: bool) -> bool:
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not loopback


async def _read(receive: Receive, most: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            break
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > most:
            raise Refusal(413, "too_large", f"a request may have {most:,} bytes; this has more")
        if not message.get("more_body"):
            break
    return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again


class _Guarded:
    """Sends responses with the headers that keep browsers safe."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.origin: str | None = None
        self.is_head = False
        self._is_over = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
            if self.origin is not None:
                for name, value in _cors(self.origin):
                    headers[name] = value
        elif self.is_head:
            if self._is_over:
                return
            self._is_over, message = True, {"type": "http.response.body"}
        await self._send(message)


def _cors(origin: str) -> Iterable[tuple[str, str]]:
    yield "Access-Control-Allow-Origin", origin
    yield "Vary", "Origin"
    yield "Access-Control-Expose-Headers", "ETag, Location, Retry-After"
    yield "Cross-Origin-Resource-Policy", "cross-origin"


async def _preflight(scope: Scope, receive: Receive, send: Send) -> None:
    from starlette.responses import Response

    allowed = "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID"
    headers = {
        "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
        "Access-Control-Allow-Headers": allowed,
        "Access-Control-Max-Age": "600",
    }
    await Response(None, 204, headers)(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send, refusal: Refusal) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.detail[:120]})
        return
    headers = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
    reply = problem(
        refusal.status, refusal.kind, refusal.detail, None, refusal.retry_after, headers
    )
    await reply(scope, receive, send)
