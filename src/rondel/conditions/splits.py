"""How a dynamic edge splits a message: into itself, by a pattern, or by a path in its JSON."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from rondel.conditions.patterns import Pattern, readable
from rondel.engine.message import Message
from rondel.engine.protocols import Split
from rondel.engine.registry import Registry
from rondel.errors import StepFailed
from rondel.graph.json_in_text import objects_in

STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\*)\]")


class MessageSplitConfig(BaseModel):
    """Each message is one part."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RegexSplitConfig(BaseModel):
    """Each match is one part: its first group, or all of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: Annotated[str, Field(min_length=1), AfterValidator(readable)] = Field(
        description="Each match is a part: its first group, or all of it."
    )
    group: Annotated[int, Field(strict=True, ge=0)] | str | None = Field(
        None, description="The group that is the part; else the first, or all of the match."
    )
    on_no_match: Literal["none", "pass", "empty"] = Field(
        "none", description="Without a match: no part, the message as it is, or an empty one."
    )

    @model_validator(mode="after")
    def _group_exists(self) -> Self:
        if self.group is not None:
            Pattern(self.pattern).demand_group(self.group)
        return self


class JsonPathSplitConfig(BaseModel):
    """Each item of the list at the path is one part, such as `$.items` or `$.groups[*].name`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(description="The list in the message's JSON, such as $.items[*].name.")
    on_no_match: Literal["fail", "pass"] = Field(
        "fail", description="Where there is no JSON: the step fails, or the message is one part."
    )

    @field_validator("path")
    @classmethod
    def _reads(cls, path: str) -> str:
        _steps(path)
        return path


def _steps(path: str) -> list[str | int | None]:
    """The keys and indexes of a path; None stands for every item."""
    rest = path.strip().removeprefix("$")
    steps: list[str | int | None] = []
    end = 0
    while found := STEP.match(rest, end):
        key, index = found.groups()
        steps.append(key if key is not None else None if index == "*" else int(index))
        end = found.end()
    if end != len(rest):
        raise ValueError(f"the path {path!r} cannot be read; write it as in $.items[*].name")
    return steps


def by_message(message: Message) -> list[Message]:
    """The message as it is."""
    return [message]


def by_regex(config: RegexSplitConfig) -> Split:
    """A part for each match."""
    pattern = Pattern(config.pattern, multiline=True)
    group = (1 if pattern.groups else 0) if config.group is None else config.group

    def split(message: Message) -> list[Message]:
        matches = pattern.matches_in(message.readable)
        parts = [_part(message, found[group] or "") for found in matches]
        if parts or config.on_no_match == "none":
            return parts
        return [message if config.on_no_match == "pass" else _part(message, "")]

    return split


def by_json_path(config: JsonPathSplitConfig) -> Split:
    """A part for each item."""
    steps = _steps(config.path)

    def split(message: Message) -> list[Message]:
        try:
            found = [_document(message)]
        except StepFailed:
            if config.on_no_match == "fail":
                raise
            return [message]
        for step in steps:
            found = [inner for value in found for inner in _inside(value, step)]
        items = found[0] if len(found) == 1 and isinstance(found[0], list) else found
        parts = [_part(message, item) for item in items]
        return parts if parts or config.on_no_match == "fail" else [message]

    return split


def _document(message: Message) -> Any:
    """The JSON that a message is, holds in its text, or has as its data."""
    text = message.text.strip()
    try:
        return json.loads(text)
    except ValueError:
        blocks = objects_in(text)
    if blocks:
        return blocks[-1]
    if message.data:
        return message.data
    raise StepFailed(f"a json_path splits JSON, but {message.source!r} sent none")


def _inside(value: Any, step: str | int | None) -> list[Any]:
    if step is None:
        return list(value.values() if isinstance(value, dict) else value if _is_list(value) else ())
    if isinstance(step, int):
        return [value[step]] if _is_list(value) and step < len(value) else []
    if _is_list(value) and step.isdecimal():
        return _inside(value, int(step))
    return [value[step]] if isinstance(value, dict) and step in value else []


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _part(message: Message, item: Any) -> Message:
    """An item as a message: text as its content, an object also as its data."""
    text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
    data = item if isinstance(item, dict) else {}
    return msgspec.structs.replace(message, content=text, data=data)


def register(registry: Registry) -> None:
    """Add `message`, `regex` and `json_path`."""
    registry.split("message", MessageSplitConfig, lambda _config, _registry: by_message)
    registry.split("regex", RegexSplitConfig, lambda config, _registry: by_regex(config))
    registry.split("json_path", JsonPathSplitConfig, lambda config, _registry: by_json_path(config))
