"""The node type `human`: a person answers."""

from __future__ import annotations

from typing import Annotated, Any, Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Question, Suspend
from rondel.engine.registry import Registry

BETWEEN = " \t\r\n:：,，;；.。-–—"
"""What may stand between an action and the comment on it."""


class HumanConfig(BaseModel):
    """What the person is asked, and the actions to choose from; without any, free text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str = ""
    actions: list[Annotated[str, Field(min_length=1, pattern=r"\S")]] = []

    @model_validator(mode="after")
    def _actions_differ(self) -> Self:
        folded = [action.strip().casefold() for action in self.actions]
        if len(set(folded)) < len(folded):
            raise ValueError("two actions are the same but for case or white space")
        return self


class HumanProcessor:
    """Asks, waits, and emits the answer; an answer that is no action is asked for again."""

    __slots__ = ("_actions", "_description")

    def __init__(self, config: HumanConfig) -> None:
        self._description = config.description
        self._actions = [action.strip() for action in config.actions]

    async def process(self, ctx: Context) -> Emit | Suspend:
        if ctx.answer is None:
            return Suspend(Question(self._description, self._actions))
        text = as_text(ctx.answer)
        if not self._actions:
            return Emit((Message(text, role="user"),))
        chosen = chosen_action(text, self._actions)
        if chosen is None:
            return Suspend(Question(self._again(text), self._actions))
        action, comment = chosen
        data = {"action": action, "comment": comment} if comment else {"action": action}
        return Emit((Message(text, data, "user"),))

    def _again(self, text: str) -> str:
        actions = ", ".join(self._actions)
        refusal = (
            f"{text!r} is not one of: {actions}. Answer with one of them; "
            f"a comment may follow, as in '{self._actions[0]}: your comment'."
        )
        return f"{self._description.rstrip()}\n{refusal}" if self._description else refusal


def as_text(answer: Any) -> str:
    """An answer as text; one that is not text reads as its JSON."""
    return answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()


def chosen_action(text: str, actions: list[str]) -> tuple[str, str] | None:
    """The action that `text` is or begins with, whatever its case, and the comment after it."""
    words = text.strip()
    for action in sorted(actions, key=len, reverse=True):
        head, rest = words[: len(action)], words[len(action) :]
        if head.casefold() == action.casefold() and (not rest or rest[0] in BETWEEN):
            return action, rest.strip(BETWEEN)
    return None


def register(registry: Registry) -> None:
    """Add `human`."""
    registry.node("human", HumanConfig, lambda config, _registry: HumanProcessor(config))
