"""What an agent is told of the past: the `history_context` in its data, from a `memory` node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rondel.engine.message import Message

HISTORY = "history_context"
"""The key of the data in which a `memory` node hands on what is remembered."""

HEADING = "What is remembered:"


def remembered(data: Mapping[str, Any]) -> list[Message]:
    """One message of the user with all entries, oldest first; none where there are none."""
    history = data.get(HISTORY)
    if not isinstance(history, list) or not history:
        return []
    lines = [f"- {_text(entry)}" for entry in history]
    return [Message("\n".join([HEADING, *lines]), role="user")]


def _text(entry: Any) -> str:
    """What an entry says, whoever made it."""
    content = entry.get("content", entry) if isinstance(entry, dict) else entry
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict))
        if text := "\n".join(filter(None, parts)):
            return text
    return msgspec.json.encode(content).decode()
