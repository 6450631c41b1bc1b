"""What travels along an edge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """One part of a message's content: text, or a reference to an attachment."""

    text: str = ""
    attachment: str = ""
    media_type: str = ""
    name: str = ""


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """Content with a role, a source and structured data; never changed once made."""

    content: str | list[Part] = ""
    data: dict[str, Any] = {}
    role: str = "assistant"
    source: str = ""
    kept: bool = False

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.text)

    @property
    def readable(self) -> str:
        """The text; a message of data alone reads as its JSON."""
        text = self.text
        if not text and self.data:
            return msgspec.json.encode(self.data).decode()
        return text

    @property
    def empty(self) -> bool:
        """Whether it says nothing at all."""
        return not self.content and not self.data


def merged_data(messages: Iterable[Message]) -> dict[str, Any]:
    """The data of all messages in one object; later messages win."""
    merged: dict[str, Any] = {}
    for message in messages:
        if message.data:
            merged.update(message.data)
    return merged
