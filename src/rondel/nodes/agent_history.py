"""What an agent is told of the past: what it recalls of its session, and what it is handed.

That is the `history_context` in its data, from a `memory` node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rondel.engine.message import TASK, Message
from rondel.engine.protocols import Context

HISTORY = "history_context"
"""The key of the data in which a `memory` node hands on what is remembered."""

HEADING = "What is remembered:"


def shown(ctx: Context) -> list[Message]:
    """All that an agent is told, what changes least first.

    The session's task, what the node retained, what it said before in this loop, what is new.
    """
    recalled, messages = ctx.recalled, ctx.messages
    retained = messages[: len(messages) - len(ctx.new_messages)]
    task = [] if recalled.task is None else [recalled.task]
    return [*task, *retained, *recalled.own, *ctx.new_messages]


def stable(ctx: Context, messages: Sequence[Message], recalls_all: bool) -> int:
    """How many of the first messages the next call of the node will begin with too.

    All where its context only grows, all but the new ones where it recalls all that it said, else
    the task; outside loops there is no next call.
    """
    if not ctx.rounds:
        return 0
    if ctx.grows:
        return len(messages)
    if recalls_all:
        return len(messages) - len(ctx.new_messages)
    return 1 if messages and messages[0].source == TASK else 0


def remembered(data: Mapping[str, Any]) -> list[Message]:
    """One message of the user with all entries, oldest first; none where there are none."""
    history = data.get(HISTORY)
    if not isinstance(history, list) or not history:
        return []
    lines = [f"- {text_of(entry)}" for entry in history]
    return [Message("\n".join([HEADING, *lines]), role="user")]


def text_of(entry: Any) -> str:
    """What an entry says, whoever made it."""
    content = entry.get("content", entry) if isinstance(entry, dict) else entry
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict))
        if text := "\n".join(filter(None, parts)):
            return text
    return msgspec.json.encode(content).decode()
