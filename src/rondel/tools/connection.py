"""A connection to an MCP server, through the `mcp` library; imported on first use only."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic_core import to_json

from rondel.models.model import ToolSpec
from rondel.tools.error_output import ErrorOutput
from rondel.tools.server import ServerConfig
from rondel.tools.tool import File, Output, ToolFailed

Said = TypeVar("Said")

IDLE = 300.0
"""Seconds without a call after which the connection is closed; the next call opens it again."""

LISTING = 60.0
"""Seconds within which a server must have listed its tools."""

PAGES = 100
"""The most pages of tools that are read of a server."""

CLOSED = "Connection closed"
"""The library's message when the connection is gone; servers use its code for other errors too."""

TERMINATED = "Session terminated"
"""What the library says when a server does not know its session any more."""

REFUSED = "Server returned an error response"
"""What the library says of a status that stands for an error."""

PDF = "application/pdf"
INHERITED = ("PATH", "HOME")
ENV = "/usr/bin/env"
TIMEOUT = httpx2.Timeout(30.0, read=None)
"""How long a call may take is the tool's own limit."""


@dataclass(slots=True)
class Life:
    """One connection's lifetime, from the first call that needs it until it closes."""

    opened: asyncio.Future[Client]
    over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    users: int = 0


class Connection:
    """The connection to one server, shared by all agents that name it.

    The library must be closed by the task that opened it, so a task of its own holds the
    connection. It ends after a while without calls, when the server is gone, and when the event
    loop cancels its tasks.
    """

    def __init__(self, server: ServerConfig) -> None:
        self._server = server
        self._life: Life | None = None
        self._errors: ErrorOutput | None = None
        self._status: int | None = None
        """The last HTTP status that was an error."""

    async def open(self) -> None:
        """Connect if need be; raises ToolFailed if that does not work."""
        async with self._client():
            pass

    async def tools(self) -> list[ToolSpec]:
        """The tools that the server has."""
        async with self._client() as client:
            listing = asyncio.timeout(LISTING)
            try:
                async with listing:
                    found = await self._listed(client)
            except TimeoutError:
                if not listing.expired():
                    raise
                raise ToolFailed(
                    f"{self._who} did not tell its tools within {LISTING:g} s"
                ) from None
        return [ToolSpec(each.name, each.description or "", each.input_schema) for each in found]

    async def _listed(self, client: Client) -> list[types.Tool]:
        found: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(PAGES):
            page = await self._answered(client.list_tools(cursor=cursor))
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                return found
        raise ToolFailed(f"{self._who} lists its tools without end: more than {PAGES} pages")

    async def call(self, name: str, arguments: dict[str, Any]) -> Output:
        """The tool's answer; raises ToolFailed if the answer is an error."""
        was_gone = self._is_gone
        try:
            result = await self._called(name, arguments)
        except ServerGone:
            if not was_gone:
                raise
            result = await self._called(name, arguments)  # the first call never arrived
        text = self._server.hidden_in_outputs.of(_text_of(result))
        if result.is_error:
            raise ToolFailed(text)
        return Output(text, [file for block in result.content if (file := _file_in(block))])

    async def _called(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        async with self._client() as client:
            return await self._answered(client.call_tool(name, arguments))

    async def _answered(self, call: Awaitable[Said]) -> Said:
        """The server's answer; if the connection is gone, the next call makes a new one."""
        failure: ToolFailed
        try:
            return await call
        except MCPError as error:
            failure = self._failure(error)
        except (httpx2.HTTPError, OSError, ValueError) as error:
            failure = ToolFailed(self._told(f"{self._who} cannot be asked: {_reason(error)}"))
        raise failure  # raised here, without the error as its cause, which may hold a secret

    def _failure(self, error: MCPError) -> ToolFailed:
        """The exception for an error; most errors concern one call, and the connection stays."""
        if error.code == types.CONNECTION_CLOSED and error.message == CLOSED:
            self._leave()
            return ServerGone(f"{self._who} ended{self._last_words}")
        if error.message == TERMINATED:
            self._leave()
        if error.message == REFUSED and self._status is not None:
            return ToolFailed(f"{self._who} {_refusal(self._status)}")
        return ToolFailed(self._told(f"{self._who} says: {error.message}"))

    # The life of a connection

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        life = self._life
        if life is None or life.over.is_set():
            life = self._life = Life(asyncio.get_running_loop().create_future())
            # a context of its own: it outlives the step that comes first
            life.task = asyncio.create_task(self._live(life), context=Context())
        life.users += 1
        try:
            yield await asyncio.shield(life.opened)
        finally:
            life.users -= 1

    async def _live(self, life: Life) -> None:
        starting = asyncio.timeout(self._server.start_timeout)
        try:
            async with starting, self._entered() as client:
                starting.reschedule(None)
                life.opened.set_result(client)
                await self._until_over(life)
        except Exception as error:  # of the library, its transports, or the server below them
            if not life.opened.done():
                life.opened.set_exception(self._no_start(error, late=starting.expired()))
                life.opened.exception()  # the caller may be gone
        finally:
            life.over.set()
            life.opened.cancel()

    @asynccontextmanager
    async def _entered(self) -> AsyncIterator[Client]:
        server = self._server
        if server.url is not None:
            async with httpx2.AsyncClient(
                headers=server.headers_sent,
                timeout=TIMEOUT,
                event_hooks={"response": [self._note_status]},
            ) as http:
                transport = streamable_http_client(server.url, http_client=http)
                async with Client(transport) as client:
                    yield client
            return
        with ErrorOutput() as errors:
            self._errors = errors
            transport = stdio_client(_parameters(server), errlog=errors.file)
            async with Client(transport) as client:
                errors.hand_over()
                yield client

    async def _note_status(self, response: httpx2.Response) -> None:
        if response.is_error:
            self._status = response.status_code

    async def _until_over(self, life: Life) -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE):
                    await life.over.wait()
                return
            except TimeoutError:
                if not life.users:
                    return

    def _leave(self) -> None:
        """Forget this connection; the next call makes a new one."""
        if self._life is not None:
            self._life.over.set()

    # What is told

    @property
    def _who(self) -> str:
        return f"the MCP server {self._server.title!r}"

    @property
    def _is_gone(self) -> bool:
        return self._errors is not None and self._errors.ended

    @property
    def _last_words(self) -> str:
        said = self._errors.last_line if self._errors is not None else ""
        return f": {self._told(said)}" if said else ""

    def _told(self, text: str) -> str:
        return self._server.hidden_in_errors.of(text)

    def _no_start(self, error: Exception, *, late: bool) -> ToolFailed:
        if isinstance(error, ToolFailed):
            return error
        if late:
            limit = f"{self._server.start_timeout:g} s"
            return ToolFailed(f"{self._who} was not ready within {limit}{self._last_words}")
        if REFUSED in str(_root(error)) and self._status is not None:
            return ToolFailed(f"{self._who} {_refusal(self._status)}")
        reason = self._last_words or self._told(f": {_reason(error)}")
        verb = "cannot be reached" if self._server.url is not None else "did not start"
        return ToolFailed(f"{self._who} {verb}{reason}")


class ServerGone(ToolFailed):
    """The server closed the connection."""


def _parameters(server: ServerConfig) -> StdioServerParameters:
    """The command in an environment of `env`, PATH and HOME.

    The library passes on a few more variables; the program `env` drops them again.
    """
    words, environment = server.words, server.environment
    if shutil.which(words[0], path=environment.get("PATH")) is None:
        raise ToolFailed(
            f"the MCP server {server.title!r} did not start: there is no command {words[0]!r}; "
            "install it, or give its full path"
        )
    if server.inherit_env:
        environment = {**os.environ, **environment}
    elif sys.platform != "win32":
        dropped = [name for name in DEFAULT_INHERITED_ENV_VARS if name not in INHERITED]
        unset = [part for name in dropped if name not in environment for part in ("-u", name)]
        words = [ENV, *unset, *words]
    return StdioServerParameters(command=words[0], args=words[1:], env=environment, cwd=server.cwd)


def _text_of(result: types.CallToolResult) -> str:
    """The text parts, one after the other; what is neither text nor a file is named."""
    parts = [_part(block) for block in result.content if not _file_in(block)]
    if not parts and result.structured_content is not None:
        return to_json(result.structured_content).decode()
    return "\n".join(parts)


def _part(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case types.ResourceLink():
            return f"[{block.name}: {block.uri}]"
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} left out: {block.mime_type}]"
    return f"[{block.type} left out]"


def _file_in(block: types.ContentBlock) -> File | None:
    """A picture or a document that models can be shown."""
    match block:
        case types.ImageContent(data=data, mime_type=kind):
            name = ""
        case types.EmbeddedResource(
            resource=types.BlobResourceContents(blob=data, mime_type=str(kind), uri=uri)
        ) if kind.startswith("image/") or kind == PDF:
            name = str(uri).rstrip("/").rpartition("/")[2]
        case _:
            return None
    try:
        return File(b64decode(data, validate=True), kind, name)
    except ValueError:  # then it is named like anything else that cannot be shown
        return None


def _root(error: BaseException) -> BaseException:
    """The innermost cause: libraries wrap it in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _reason(error: BaseException) -> str:
    root = _root(error)
    text = " ".join(str(root).split())
    return text or type(root).__name__


def _refusal(status: int) -> str:
    """The meaning of a status, and what to do about it."""
    phrase = HTTPStatus(status).phrase if status in _STATUSES else ""
    told = f"answered with status {status} {phrase}".rstrip()
    return f"{told}; check its headers" if status in (401, 403) else f"{told}; check its url"


_STATUSES = frozenset(HTTPStatus)
