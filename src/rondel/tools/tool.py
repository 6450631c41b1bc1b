"""A tool as an agent uses it, and what it says: text, and the files that come with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic_core import to_json

from rondel.engine.message import Message, Part
from rondel.journal.attachments import media_type_of
from rondel.models.model import ToolSpec
from rondel.tools.context import NOWHERE, ToolContext


@dataclass(frozen=True, slots=True)
class File:
    """The bytes of an image or a document; without a media type they tell it by themselves."""

    content: bytes
    media_type: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """The text, and files that are new or kept already."""

    text: str = ""
    files: Sequence[File | Part] = ()


class ToolFailed(Exception):
    """A tool could not do what it was asked; the text is one line for the model and the log."""


class Tool(Protocol):
    """Something that a model may call."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is told it."""
        ...

    async def prepare(self) -> None:
        """Make it ready to be called; this does not count as a call's time."""
        ...

    async def call(self, arguments: dict[str, Any], context: ToolContext = NOWHERE) -> Output:
        """Its answer; any exception is a failure of the tool."""
        ...


def output_of(result: Any) -> Output:
    """A function's result as an output: text as it is, files as files, the rest as JSON."""
    items = list(_items(result))
    files = [item for item in items if isinstance(item, File | Part)]
    if not files:
        return Output(_text_of(result))
    texts = [_text_of(item) for item in items if not isinstance(item, File | Part)]
    return Output("\n".join(filter(None, texts)), files)


def _items(result: Any) -> Iterator[Any]:
    """A result taken apart, its files recognised."""
    if isinstance(result, Message):
        result = result.content
    for item in result if isinstance(result, list | tuple) else (result,):
        if isinstance(item, Part):
            yield item if item.attachment else item.text
        else:
            yield _file_in(item) or item


def _file_in(value: Any) -> File | None:
    """A picture or a PDF by how it begins, and what says of itself what its data are."""
    if isinstance(value, bytes | bytearray | memoryview):
        content = bytes(value)
        kind = media_type_of("", content)
        shown = kind.startswith("image/") or kind == "application/pdf"
        return File(content, kind) if shown else None
    data, said = getattr(value, "data", None), getattr(value, "media_type", None)
    return File(data, said) if isinstance(data, bytes) and isinstance(said, str) else None


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
