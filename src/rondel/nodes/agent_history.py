"""The past that an agent is shown: what it recalls of its session, and what other nodes hand it.

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
    """All messages that an agent is shown; those that change least come first.

    The session's task, what the node retained, what it said before in this loop, what is new.
    """
    recalled, messages = ctx.recalled, ctx.messages
    retained = messages[: len(messages) - len(ctx.new_messages)]
    task = [] if recalled.task is None else [recalled.task]
    return [*task, *retained, *recalled.own, *ctx.new_messages]


def stable(ctx: Context, messages: Sequence[Message], recalls_all: bool) -> int:
    """The number of first messages with which the node's next call begins too.

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
    """One user message with all entries, oldest first; nothing if there are no entries."""
    history = data.get(HISTORY)
    if not isinstance(history, list) or not history:
        return []
    lines = [f"- {entry_text(entry)}" for entry in history]
    return [Message("\n".join([HEADING, *lines]), role="user")]


def entry_text(entry: Any) -> str:
    """The text of an entry."""
    content = entry.get("content", entry) if isinstance(entry, dict) else entry
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict))
        if text := "\n".join(filter(None, parts)):
            return text
    return msgspec.json.encode(content).decode()
