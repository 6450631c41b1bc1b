"""MCP: the tools over streamable HTTP and over stdio, with the `mcp` library's own server."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from rondel.server.access import LOCAL, Caller, caller_of
from rondel.server.site import Site
from rondel.server.tools import Tools

Context = ServerRequestContext[Any, Request]


def mcp_server(site: Site, caller_in: Callable[[Context], Caller]) -> Server[Any]:
    """The server of a site's tools; who calls is in the context of each request."""
    tools = Tools(site)

    async def list_tools(
        ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.list(caller_in(ctx)))

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        async def progress(number: float, message: str) -> None:
            await ctx.session.report_progress(number, None, message)

        arguments = dict(params.arguments or {})
        return await tools.call(caller_in(ctx), params.name, arguments, progress)

    return Server(
        "rondel",
        version=version("rondel"),
        instructions="Every graph is a tool. A session that asks waits for rondel_answer.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def over_http(site: Site) -> StreamableHTTPSessionManager:
    """The tools over HTTP, behind the gate; no state is kept between requests."""

    def caller_in(ctx: Context) -> Caller:
        return LOCAL if ctx.request is None else caller_of(ctx.request)

    return StreamableHTTPSessionManager(
        mcp_server(site, caller_in),
        stateless=True,
        max_request_body_size=site.options.limits.body,
    )


async def over_stdio(site: Site) -> None:
    """The tools for the program that started this one, until it closes the pipe."""
    from mcp.server.stdio import stdio_server

    server = mcp_server(site, lambda _ctx: LOCAL)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
