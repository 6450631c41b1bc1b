"""Translates a request for the library, and its response back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import ToolDefinition

from rondel.engine.message import Message, Part
from rondel.graph.json_in_text import finite
from rondel.graph.surrogates import whole, wholly
from rondel.models.model import Request, ToolCall, ToolResult, Turn, is_own
from rondel.models.tries import Failure

TEXTUAL = frozenset(
    {"application/json", "application/xml", "application/yaml", "application/x-yaml"}
)
"""Media types of text that do not begin with `text/`."""

OPENING = "Begin."
"""The message for a model without input: most providers demand one."""

GO_ON = "Go on."
"""The message that follows a model's own words if nothing else does."""


def messages_of(
    request: Request, marked: bool = False, opening: str = OPENING
) -> list[ModelMessage]:
    """The messages of the conversation for the model, oldest first.

    Where it is `marked`, a provider is told how much of it stays the same from call to call. A
    model that was given nothing is told the `opening`.
    """
    history = _told(request, request.stable if marked else 0)
    if all(isinstance(part, SystemPromptPart) for message in history for part in message.parts):
        _add(history, UserPromptPart(opening))
    elif isinstance(history[-1], ModelResponse):
        _add(history, UserPromptPart(GO_ON))
    for turn in request.turns:
        history.append(_response_of(turn))
        names = {call.id: call.name for call in turn.calls}
        for result in turn.results:
            _add(history, _return_of(result, names.get(result.id, ""), request.files))
        if turn.reply:
            _add(history, UserPromptPart(turn.reply))
    return history


def _told(request: Request, stable: int) -> list[ModelMessage]:
    """The messages of a request, with a cache mark after the first `stable`."""
    history: list[ModelMessage] = []
    if request.system and _has_system(request):
        _add(history, SystemPromptPart(request.system))
    for number, message in enumerate(request.messages, 1):
        own = is_own(message, request.node_id)
        if own and not history:
            _add(history, UserPromptPart(OPENING))
        if own:
            _add(history, TextPart(message.readable))
            continue
        if _is_system(message):
            _add(history, SystemPromptPart(message.readable))
            continue
        prompt = _prompt_of(message, request.files)
        if number == stable:
            prompt.content = [*_contents(prompt), CachePoint()]
        elif 0 < stable == number - 1 and isinstance(history[-1], ModelResponse):
            prompt.content = [CachePoint(), *_contents(prompt)]
        _add(history, prompt)
    return history


def _is_system(message: Message) -> bool:
    return message.own_role and message.role == "system"


def _has_system(request: Request) -> bool:
    """Whether a message has the role `system`; then the agent's role is one too."""
    return any(map(_is_system, request.messages))


def _contents(prompt: UserPromptPart) -> Sequence[UserContent]:
    return [prompt.content] if isinstance(prompt.content, str) else prompt.content


def _prompt_of(message: Message, files: Mapping[str, bytes]) -> UserPromptPart:
    """A user prompt: text and attached files."""
    if isinstance(message.content, str) or not any(part.attachment for part in message.content):
        return UserPromptPart(message.readable)
    return UserPromptPart([_content_of(part, files) for part in message.content])


def _content_of(part: Part, files: Mapping[str, bytes]) -> str | BinaryContent:
    if not part.attachment:
        return part.text
    content, kind = files[part.attachment], part.media_type
    if not _is_readable(kind):
        name = part.name or part.attachment[:12]
        what = f"the attachment {name!r} is {kind}, which no model reads"
        raise Failure(what, "attach an image, a PDF or a text", lasting=True)
    if _is_text(kind):
        return f"{part.name or 'attachment'}:\n\n{content.decode('utf-8', 'replace')}"
    return BinaryContent(content, media_type=kind, identifier=part.name or None)


def _is_readable(kind: str) -> bool:
    """Whether any model reads such a file."""
    return kind.startswith("image/") or kind == "application/pdf" or _is_text(kind)


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in TEXTUAL


def _add(history: list[ModelMessage], part: ModelRequestPart | TextPart) -> None:
    if isinstance(part, TextPart):
        history.append(ModelResponse([part]))
    elif history and isinstance(history[-1], ModelRequest):
        history[-1].parts = [*history[-1].parts, part]
    else:
        history.append(ModelRequest([part]))


def _response_of(turn: Turn) -> ModelMessage:
    if turn.record is not None:
        return ModelMessagesTypeAdapter.validate_python([turn.record])[0]
    parts: list[ModelResponsePart] = [TextPart(turn.content)] if turn.content else []
    parts += [
        ToolCallPart(call.name, call.malformed or call.arguments, call.id) for call in turn.calls
    ]
    return ModelResponse(parts)


def _return_of(result: ToolResult, tool: str, files: Mapping[str, bytes]) -> ToolReturnPart:
    if result.failed:
        return ToolReturnPart(tool, result.content, result.id, outcome="failed")
    shown = [_content_of(part, files) for part in result.files if _is_readable(part.media_type)]
    return ToolReturnPart(tool, [result.content, *shown] if shown else result.content, result.id)


def parameters_of(request: Request, profile: ModelProfile) -> ModelRequestParameters:
    """The role, tools and output schema; the schema goes into the role where nothing else works."""
    is_apart = request.system and not _has_system(request)
    system = [InstructionPart(content=request.system)] if is_apart else []
    tools = [
        ToolDefinition(
            name=tool.name,
            parameters_json_schema=tool.parameters,
            description=tool.description or None,
        )
        for tool in request.tools
    ]
    if request.schema is None:
        return ModelRequestParameters(function_tools=tools, instruction_parts=system)
    native = profile.get("supports_json_schema_output", False)
    return ModelRequestParameters(
        function_tools=tools,
        instruction_parts=system,
        output_mode="native" if native else "prompted",
        output_object=OutputObjectDefinition(request.schema, name="answer"),
    )


def response_text(response: ModelResponse) -> str:
    """The text of the response, without thoughts."""
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def thoughts_of(response: ModelResponse) -> str:
    """The thoughts in the response."""
    return "".join(part.content for part in response.parts if isinstance(part, ThinkingPart))


def tool_calls_of(response: ModelResponse) -> Sequence[ToolCall]:
    """The tool calls of the response."""
    return tuple(_call_of(part) for part in response.parts if isinstance(part, ToolCallPart))


def _call_of(part: ToolCallPart) -> ToolCall:
    number, name, given = whole(part.tool_call_id), whole(part.tool_name), part.args or {}
    if isinstance(given, str):
        try:
            given = json.loads(whole(given), parse_float=finite, parse_constant=finite)
        except (ValueError, RecursionError):
            return ToolCall(number, name, malformed=whole(str(part.args)))
    if not isinstance(given, dict):
        return ToolCall(number, name, malformed=whole(str(part.args)))
    return ToolCall(number, name, wholly(given))


def record_of(response: ModelResponse) -> dict[str, Any]:
    """The response as JSON, with the parts that only its provider can read."""
    record: dict[str, Any] = ModelMessagesTypeAdapter.dump_python([response], mode="json")[0]
    told: dict[str, Any] = wholly(record)
    return told
