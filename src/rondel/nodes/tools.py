"""The tools of an agent: which it may use, their time limits, and the results of calls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    create_model,
)

from rondel.conditions.function import registered_function
from rondel.engine.message import Part
from rondel.engine.registry import Registry
from rondel.engine.shell.exits import confined
from rondel.engine.shell.wrapping import describe
from rondel.errors import StepFailed
from rondel.graph.names import Names
from rondel.graph.quantities import Duration
from rondel.graph.surrogates import whole
from rondel.journal.attachments import Attachments
from rondel.models.model import ToolCall, ToolResult, ToolSpec
from rondel.tools.context import NOWHERE, ToolContext
from rondel.tools.function import FunctionTool
from rondel.tools.functions_folder import ALL, FolderFunction, FunctionGroup
from rondel.tools.server import COMMANDS, ServerConfig, connection_to
from rondel.tools.tool import File, Output, Tool, ToolFailed

TIMEOUT = 60.0
"""The default time limit of one call, in seconds."""

OUTPUT_BYTES = 100_000
"""The most bytes of an output that a model is told and a journal keeps."""

LONGEST_NAME = 64
NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}")
"""The names of tools that every provider accepts."""

UNSAYABLE = re.compile(r"[^A-Za-z0-9_-]")

Execution = dict[str, Any]
"""A call as it is journalled and told: tool, input, output; `files` with it; `failed` if it did."""


Prefix = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_-]{0,32}$", description="Before the name of each of its tools."),
]


class FunctionEntry(BaseModel):
    """A registered Python function, or all of a file of them: `FILE:All`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    function: str
    prefix: Prefix = ""
    timeout: Duration = TIMEOUT


class ServerEntry(BaseModel):
    """The tools of an MCP server, or those of them that are allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    mcp: ServerConfig
    prefix: Prefix = ""
    allow: Annotated[list[str], Field(min_length=1)] | None = None
    timeout: Duration = TIMEOUT


ToolEntry = FunctionEntry | ServerEntry


def entry_type(registry: Registry) -> Any:
    """The type of an entry of `tools`: the name of a function of `registry`, or an MCP server."""
    name = Annotated[
        str, AfterValidator(registered_function(registry)), AfterValidator(_callable_by_models)
    ]
    function = create_model(
        "FunctionEntry", __base__=FunctionEntry, __module__=__name__, function=(name, ...)
    )
    union = Annotated[function, Tag("function")] | Annotated[ServerEntry, Tag("mcp")]
    return Annotated[
        Annotated[union, Discriminator(_kind)],
        BeforeValidator(_spelled_out, json_schema_input_type=str | function | ServerEntry),
    ]


def _spelled_out(value: Any) -> Any:
    return {"function": value} if isinstance(value, str) else value


def _kind(value: Any) -> str:
    is_server = isinstance(value, ServerEntry) or (isinstance(value, dict) and "mcp" in value)
    return "mcp" if is_server else "function"


def _callable_by_models(name: str) -> str:
    if not (NAME.fullmatch(name) or name.endswith(ALL)):
        raise ValueError(
            f"models cannot call a tool {name!r}; register it under a name of letters, digits, "
            "- and _"
        )
    return name


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of an MCP server."""

    server: ServerConfig
    name: str
    spec: ToolSpec
    """The tool as the model is told it, perhaps under another name."""

    async def prepare(self) -> None:
        await (await connection_to(self.server)).open()

    async def call(self, arguments: dict[str, Any], context: ToolContext = NOWHERE) -> Output:
        del context  # the protocol has no place for it
        return await (await connection_to(self.server)).call(self.name, arguments)


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that a model may call in one step, and those it may not though they exist."""

    tools: Mapping[str, tuple[Tool, float]]
    withheld: frozenset[str] = frozenset()
    registry: Registry | None = None
    """Keeps the files that tools return."""

    @property
    def specs(self) -> list[ToolSpec]:
        """The tools as the model is told them."""
        return [tool.spec for tool, _ in self.tools.values()]

    async def run(self, call: ToolCall, context: ToolContext = NOWHERE) -> Execution:
        """The result of a call; errors are told to the model, not raised."""
        given: Any = call.malformed or call.arguments
        told = {"tool": call.name, "input": given}
        try:
            return {**told, **await self._kept(await self._run(call, context), context)}
        except ToolFailed as failure:
            error = str(failure)
        except BaseException as exited:  # a tool is foreign code
            raised = confined(exited)
            if not isinstance(raised, Exception):
                raise
            error = describe(raised)
        return {**told, "output": _cut(error), "failed": True}

    async def _kept(self, output: Output, context: ToolContext) -> Execution:
        """A tool's result as it is journalled; its files are kept as attachments."""
        if not output.files:
            return {"output": _cut(output.text)}
        if self.registry is None:
            raise ToolFailed("there is no place for its files")
        files: Attachments = self.registry.service("attachments")
        session = context.session_id or None
        parts: list[Part] = []
        for each in output.files:
            new = each if isinstance(each, File) else await _loaded(each, files)
            parts.append(await files.keep(new.content, new.media_type, new.name, session))
        text = "\n".join(filter(None, (_cut(output.text), *map(_named, parts))))
        return {"output": text, "files": msgspec.to_builtins(parts)}

    async def _run(self, call: ToolCall, context: ToolContext) -> Output:
        if call.name not in self.tools:
            raise ToolFailed(self._refusal(call.name))
        if call.malformed:
            raise ToolFailed("the arguments are no JSON object; call it again with one")
        tool, limit = self.tools[call.name]
        await tool.prepare()
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                return await tool.call(call.arguments, context)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise ToolFailed(f"it took longer than its timeout of {limit:g} s") from None

    def _refusal(self, name: str) -> str:
        names = Names(self.tools, what="there are")
        if name in self.withheld:
            return f"the tool {name!r} is not allowed here; {names.listed()}"
        return f"there is no tool {name!r}; {names.hint(name)}"


class Toolbox:
    """The tools of one agent."""

    def __init__(
        self, entries: Sequence[ToolEntry], registry: Registry, approve: Sequence[str] = ()
    ) -> None:
        self.approve = frozenset(approve)
        """The tools whose calls a person has to allow."""
        self._functions = [
            (tool, each.timeout)
            for each in entries
            if isinstance(each, FunctionEntry)
            for tool in _tools_of(each, registry)
        ]
        self._servers = [each for each in entries if isinstance(each, ServerEntry)]
        self._registry = registry

    async def open(self) -> Offer:
        """The tools on offer now; raises StepFailed if a server cannot be reached."""
        found: list[tuple[Tool, float]] = [*self._functions]
        withheld: set[str] = set()
        for entry in self._servers:
            specs = await self._specs(entry)
            names = sayable([spec.name for spec in specs])
            names = {name: _prefixed(entry.prefix, said) for name, said in names.items()}
            allowed = {*names} if entry.allow is None else {*entry.allow}
            found += [
                (ServerTool(entry.mcp, spec.name, _renamed(spec, names)), entry.timeout)
                for spec in specs
                if spec.name in allowed
            ]
            withheld |= {names[spec.name] for spec in specs if spec.name not in allowed}
        tools: dict[str, tuple[Tool, float]] = {}
        for tool, limit in found:
            if tool.spec.name in tools:
                raise StepFailed(
                    f"there are two tools called {tool.spec.name!r}; leave one of them out with "
                    "allow"
                )
            tools[tool.spec.name] = tool, limit
        known = Names(tools, what="there are")
        missing = next((name for name in sorted(self.approve) if name not in known), None)
        if missing is not None:
            raise StepFailed(f"approve names no tool: {missing!r}; {known.hint(missing)}")
        return Offer(tools, frozenset(withheld), self._registry)

    async def _specs(self, entry: ServerEntry) -> list[ToolSpec]:
        if entry.mcp.command and not self._registry.service(COMMANDS):
            raise StepFailed(f"the program {entry.mcp.shown!r} may not be started here")
        try:
            specs = await (await connection_to(entry.mcp)).tools()
        except ToolFailed as failure:
            raise StepFailed(str(failure)) from None
        names = Names((spec.name for spec in specs), what="it has")
        missing = next((name for name in entry.allow or () if name not in names), None)
        if missing is not None:
            raise StepFailed(
                f"the MCP server {entry.mcp.title!r} has no tool {missing!r}; {names.hint(missing)}"
            )
        return specs


def _tools_of(entry: FunctionEntry, registry: Registry) -> Iterator[FunctionTool]:
    """The tools of an entry, under the names that models call them by."""
    found = registry.function_named(entry.function)
    members = found.members if isinstance(found, FunctionGroup) else [found]
    for each in members:
        name = each.name if isinstance(each, FolderFunction) else entry.function
        function = each.described() if isinstance(each, FolderFunction) else each
        yield FunctionTool(_prefixed(entry.prefix, name), function)


def _prefixed(prefix: str, name: str) -> str:
    return f"{prefix}_{name}"[:LONGEST_NAME] if prefix else name


def sayable(names: Sequence[str]) -> dict[str, str]:
    """Each name in a form that every provider accepts; the result depends on the names only."""
    said = {name: name for name in names if NAME.fullmatch(name)}
    for name in names:
        if name in said:
            continue
        short = UNSAYABLE.sub("_", name)[:LONGEST_NAME]
        if not short.strip("_") or short in said.values():
            short = f"{short[: LONGEST_NAME - 9]}_{sha256(name.encode()).hexdigest()[:8]}"
        said[name] = short
    return said


def _renamed(spec: ToolSpec, names: Mapping[str, str]) -> ToolSpec:
    return spec if names[spec.name] == spec.name else replace(spec, name=names[spec.name])


def tool_result(call: ToolCall, execution: Execution) -> ToolResult:
    """An execution as the model is told it."""
    files = msgspec.convert(execution.get("files", ()), tuple[Part, ...])
    return ToolResult(call.id, str(execution["output"]), bool(execution.get("failed")), files)


async def _loaded(part: Part, files: Attachments) -> File:
    """The content of a kept file that a function named; the session refers to it from now on."""
    return File(await files.load(part), part.media_type, part.name)


def _named(part: Part) -> str:
    """A line of text for a file that the model cannot see."""
    kind = f"{part.media_type}, {part.size} bytes"
    return f"[{part.name}: {kind}]" if part.name else f"[{kind}]"


def _cut(output: str) -> str:
    """The output; one that is too long is cut, with a note."""
    output = whole(output)
    encoded = output.encode()
    if len(encoded) <= OUTPUT_BYTES:
        return output
    start = encoded[:OUTPUT_BYTES].decode("utf-8", "ignore")
    return f"{start}\n[cut: these are the first {OUTPUT_BYTES} of {len(encoded)} bytes]"
