"""The node type `human`: a person answers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, ClassVar, Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rondel.engine.message import Message
from rondel.engine.protocols import UNCHANGED, Context, Emit, Question, Suspend
from rondel.engine.registry import Registry
from rondel.graph.guarantees import NO_KEYS, Calls, Guarantee, LoopGuard
from rondel.graph.quantities import Duration

BETWEEN = " \t\r\n:：,，;；.。-–—"
"""Characters between an action and the comment on it."""

FAIL = "fail"
REVISE = "revise"


class HumanConfig(BaseModel):
    """What the person is asked, and the actions to choose from; without any, free text."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    other_names: ClassVar[Collection[str]] = ("user", "person", "user_input", "feedback")

    description: str = ""
    actions: list[Annotated[str, Field(min_length=1, pattern=r"\S")]] = []
    timeout: Duration | None = None
    on_timeout: str = FAIL
    max_revisions: Annotated[int, Field(strict=True, ge=1)] | None = None

    def guarantee(self) -> Guarantee:
        """It emits an answer, and the action `revise` at most `max_revisions` times."""
        others = [action for action in self.actions if action.strip().casefold() != REVISE]
        guard = None
        if self.max_revisions is not None:
            guard = LoopGuard(
                "human {} max_revisions",
                self.max_revisions + 1,
                says=tuple({"action": action.strip()} for action in others),
                open_keys=frozenset({"comment"}),
            )
        return Guarantee(
            routes=False,
            emits=True,
            keys=frozenset({"action", "comment"}) if self.actions else NO_KEYS,
            passes=False,
            openings=tuple(action.strip() for action in self.actions),
            calls=Calls(),
            guard=guard,
        )

    @model_validator(mode="after")
    def _actions_differ(self) -> Self:
        folded = [action.strip().casefold() for action in self.actions]
        if len(set(folded)) < len(folded):
            raise ValueError("two actions are the same but for case or white space")
        if self.max_revisions is not None and REVISE not in folded:
            raise ValueError("max_revisions counts answers of the action 'revise'; add it")
        return self

    @model_validator(mode="after")
    def _timeout_has_an_answer(self) -> Self:
        if self.on_timeout == FAIL:
            return self
        if self.timeout is None:
            raise ValueError("on_timeout needs a timeout; set one, as in timeout: 24h")
        if self.actions and chosen_action(self.on_timeout, self.actions) is None:
            words = ", ".join(self.actions)
            raise ValueError(f"on_timeout is fail or an answer that can be given: {words}")
        return self


class HumanState(msgspec.Struct, omit_defaults=True):
    """The node's private state: its deadline, and how often the answer was `revise`."""

    deadline: float | None = None
    revisions: int = 0


class HumanProcessor:
    """Asks, waits, and emits the answer; asks again if the answer is not one of the actions."""

    __slots__ = ("_actions", "_config", "_otherwise")

    def __init__(self, config: HumanConfig) -> None:
        self._config = config
        self._actions = [action.strip() for action in config.actions]
        self._otherwise = None if config.on_timeout == FAIL else config.on_timeout

    async def process(self, ctx: Context) -> Emit | Suspend:
        asked = msgspec.convert(ctx.state or {}, HumanState)
        offered = self._offered(asked)
        if ctx.answer is None:
            timeout = self._config.timeout
            asked.deadline = None if timeout is None else ctx.now + timeout
            return self._ask(self._config.description, offered, asked)
        text = as_text(ctx.answer)
        if not self._actions:
            return Emit((Message(text, role="user"),))
        chosen = chosen_action(text, offered)
        if chosen is None:
            return self._ask(self._again(text, offered), offered, asked)
        action, comment = chosen
        asked.revisions += action.casefold() == REVISE
        data = {"action": action, "comment": comment} if comment else {"action": action}
        return Emit((Message(text, data, "user"),), self._state(asked))

    def _offered(self, asked: HumanState) -> list[str]:
        """The actions on offer, without `revise` once it was chosen often enough."""
        most = self._config.max_revisions
        if most is None or asked.revisions < most:
            return self._actions
        return [action for action in self._actions if action.casefold() != REVISE]

    def _ask(self, text: str, actions: list[str], asked: HumanState) -> Suspend:
        question = Question(text, actions, asked.deadline, self._otherwise)
        return Suspend(question, self._state(asked))

    def _state(self, asked: HumanState) -> Any:
        counts = self._config.timeout is not None or self._config.max_revisions is not None
        return msgspec.to_builtins(asked) if counts else UNCHANGED

    def _again(self, text: str, actions: list[str]) -> str:
        refusal = (
            f"{text!r} is not one of: {', '.join(actions)}. Answer with one of them; "
            f"a comment may follow, as in '{actions[0]}: your comment'."
        )
        if len(actions) < len(self._actions):
            refusal = f"It was revised {self._config.max_revisions} times already. {refusal}"
        description = self._config.description
        return f"{description.rstrip()}\n{refusal}" if description else refusal


def as_text(answer: Any) -> str:
    """An answer as text; anything but text becomes JSON."""
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
