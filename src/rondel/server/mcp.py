"""Graphs and sessions as MCP tools, over HTTP and stdio, with the server of the library `mcp`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from rondel.errors import CallError, RondelError
from rondel.server import schemas
from rondel.server.access import LOCAL, Caller, caller_of
from rondel.server.replies import Refusal
from rondel.server.session_reply import RESTING, round_text, session_reply, told_by, until_rest
from rondel.server.site import Site
from rondel.server.starting import start
from rondel.sessions.session import Session

UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
WAIT, LONGEST = 30.0, 3600.0
"""Seconds that a call waits for its session unless it says so, and at most."""

Progress = Callable[[float, str], Awaitable[None]]

TASK = {
    "task": {"type": "string", "description": "What is to be done."},
    "inputs": {"type": "object", "description": "Further inputs of the session."},
}
PATIENCE = {
    "wait": {
        "type": "number",
        "minimum": 0,
        "maximum": LONGEST,
        "description": "Seconds to wait for the end; after that the session goes on by itself.",
    }
}
SESSION = {"session_id": {"type": "string"}}


def _schema(required: list[str], *parts: dict[str, Any]) -> dict[str, Any]:
    properties = {name: value for part in parts for name, value in part.items()}
    return {"type": "object", "properties": properties, "required": required}


FIXED = {
    "rondel_start": types.Tool(
        name="rondel_start",
        description="Start a session of a graph; answers at once with its id.",
        input_schema=_schema(["graph_id"], {"graph_id": {"type": "string"}}, TASK),
    ),
    "rondel_watch": types.Tool(
        name="rondel_watch",
        description="Wait for a session, and tell what it has come to.",
        input_schema=_schema(["session_id"], SESSION, PATIENCE),
    ),
    "rondel_answer": types.Tool(
        name="rondel_answer",
        description="Answer the question that a session waits for, and wait for what follows.",
        input_schema=_schema(
            ["session_id", "text"],
            SESSION,
            {"text": {"type": "string"}, "node": {"type": "string"}},
            PATIENCE,
        ),
    ),
    "rondel_rounds": types.Tool(
        name="rondel_rounds",
        description="Every round of a session's loops, with its score and cost.",
        input_schema=_schema(["session_id"], SESSION),
    ),
}


class Tools:
    """The MCP tools of a caller, and their calls."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def list(self, caller: Caller) -> list[types.Tool]:
        """Every stored graph, and those to handle sessions."""
        graphs = [
            types.Tool(
                name=name,
                description=description or f"Runs the graph {graph}.",
                input_schema=_schema(["task"], TASK, PATIENCE),
            )
            for name, (graph, description) in self._graphs(caller).items()
        ]
        return [*graphs, *FIXED.values()]

    async def call(
        self, caller: Caller, name: str, arguments: dict[str, Any], progress: Progress
    ) -> types.CallToolResult:
        """Call one; what goes wrong is told in its result."""
        try:
            if not caller.may("operator") and name not in ("rondel_watch", "rondel_rounds"):
                raise Refusal(403, "forbidden", "this needs the role operator")
            return await self._call(caller, name, arguments, progress)
        except Refusal as refusal:
            return _result(refusal.detail, is_error=True)
        except (RondelError, ValueError) as error:
            return _result(str(error), is_error=True)

    async def _call(
        self, caller: Caller, name: str, given: dict[str, Any], progress: Progress
    ) -> types.CallToolResult:
        site = self._site
        if name == "rondel_rounds":
            session = site.session(_word(given, "session_id"), caller)
            rounds = msgspec.to_builtins(await site.read(session, session.rounds))
            return _result(msgspec.json.encode(rounds).decode(), {"rounds": rounds})
        if name == "rondel_watch":
            session = site.session(_word(given, "session_id"), caller)
            return await self._waited(caller, session, 0, given, progress)
        if name == "rondel_answer":
            session = site.session(_word(given, "session_id"), caller)
            site.demand_open()
            after = (await site.read(session, partial(told_by, site, session))).last
            await session.answer(_word(given, "text"), given.get("node"), caller.name)
            return await self._waited(caller, session, after, given, progress)
        if name == "rondel_start":
            made = await self._start(caller, _word(given, "graph_id"), given)
            return _result(f"session {made} has started", {"session_id": made, "status": "running"})
        graph = self._graphs(caller).get(name)
        if graph is None:
            raise CallError(f"there is no tool {name!r}")
        made = await self._start(caller, graph[0], given)
        return await self._waited(caller, site.engine.get(made), 0, given, progress)

    async def _start(self, caller: Caller, graph_id: str, given: dict[str, Any]) -> str:
        inputs = dict(given.get("inputs") or {})
        if "task" in given:
            inputs["task"] = _word(given, "task")
        request = schemas.SessionRequest(graph_id=graph_id, inputs=inputs)
        return (await start(self._site, caller, request))["id"]

    async def _waited(
        self,
        caller: Caller,
        session: Session,
        after: int,
        given: dict[str, Any],
        progress: Progress,
    ) -> types.CallToolResult:
        """The session's reply, or a note that it goes on; progress is reported meanwhile."""
        await progress(0, f"session {session.id}")
        wait = min(max(float(given.get("wait", WAIT)), 0.0), LONGEST)
        if session.status not in RESTING or after:
            try:
                async with asyncio.timeout(wait):
                    await self._follow(caller, session, after, progress)
            except TimeoutError:
                pass
        if not await self._site.tokens.hold(caller):
            raise Refusal(401, "unauthorized", "the token was revoked")
        came = session_reply(self._site, session)
        fields = came.to_json(session.id)
        if came.status not in RESTING:
            text = f"session {session.id} is {came.status}; watch it with rondel_watch"
            return _result(text, fields)
        text = came.text
        if came.status == "waiting":
            text += f"\n\nAnswer it with rondel_answer, session_id {session.id}."
        return _result(text, fields, is_error=came.is_error)

    async def _follow(
        self, caller: Caller, session: Session, after: int, progress: Progress
    ) -> None:
        number = 0.0
        async for event in until_rest(self._site, caller, session, after):
            line = round_text(event)
            if line is not None:
                number += 1
                await progress(number, line)

    def _graphs(self, caller: Caller) -> dict[str, tuple[str, str]]:
        """The id and description of each graph, by tool name."""
        found: dict[str, tuple[str, str]] = {}
        for file in self._site.folder.files(caller.groups).values():
            name = base = UNSAFE.sub("_", file.id)[:56] or "graph"
            number = 1
            while name in found or name in FIXED:
                number += 1
                name = f"{base}_{number}"
            found[name] = file.id, file.description
        return found


def _word(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise CallError(f"{name!r} is needed, and is a text")
    return value


def _result(
    text: str, fields: dict[str, Any] | None = None, *, is_error: bool = False
) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=fields, is_error=is_error)


# The server


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
