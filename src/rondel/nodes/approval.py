"""Tools whose calls a person has to allow, one by one."""

from __future__ import annotations

from typing import Any

import msgspec

from rondel.engine.protocols import Context, Question
from rondel.models.model import ToolCall
from rondel.nodes.human import as_text, chosen_action

APPROVE, DENY = "approve", "deny"
ACTIONS = [APPROVE, DENY]
LONGEST = 2000
"""The most characters of a call's arguments that a person is shown."""


class ApprovalNeeded(Exception):
    """Raised to ask a person before the step goes on; `part` names the call that is asked about."""

    def __init__(self, part: str, question: Question) -> None:
        super().__init__(part)
        self.part = part
        self.question = question


async def refusal(ctx: Context, call: ToolCall, part: str, asked: str) -> str | None:
    """Why a call is refused, or None if it is allowed; raises ApprovalNeeded if it is undecided.

    An answer counts for the call that was `asked` about and for no other: what was decided is
    journalled under its own name, so that no crash takes one answer for two.
    """

    async def decided() -> dict[str, str]:
        answer = ctx.answer if asked == part else None
        text = "" if answer is None else as_text(answer)
        chosen = chosen_action(text, ACTIONS)
        if chosen is None:
            raise ApprovalNeeded(part, Question(_asked_of(call, text), ACTIONS))
        action, reason = chosen
        return {"tool": call.name, "decision": action, "reason": reason}

    told = await ctx.substep(part, decided, "tool_approval")
    if told["decision"] == APPROVE:
        return None
    reason = f": {told['reason']}" if told["reason"] else ""
    return f"a person did not allow this call{reason}"


def _asked_of(call: ToolCall, said: str) -> str:
    shown = _values_of(call)
    if len(shown) > LONGEST:
        shown = f"{shown[:LONGEST]}… ({len(shown)} characters)"
    question = f"May the tool {call.name!r} be used?"
    if shown:
        question = f"May the tool {call.name!r} be used with these values?"
        question = f"{question}\n{shown}"
    if not said:
        return question
    return (
        f"{question}\n{said!r} is neither approve nor deny; a reason may follow, as in 'deny: …'."
    )


def _values_of(call: ToolCall) -> str:
    """The arguments of a call, each on one line; no value can look like two."""
    given: Any = call.malformed or call.arguments
    if not isinstance(given, dict):
        return _as_json(given)
    return "\n".join(
        f"  {name if name.isidentifier() else _as_json(name)}: {_as_json(value)}"
        for name, value in given.items()
    )


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
