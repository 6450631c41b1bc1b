"""What a step hands its processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from rondel.engine.message import Message
from rondel.engine.protocols import Usage
from rondel.engine.step import Step

LiveEvent = Callable[[Step, str, dict[str, Any]], None]


class StepContext:
    """The `Context` of one step; everything that costs is computed when it is asked for."""

    __slots__ = ("_live", "_session", "active_time", "now", "retried", "step", "usage")

    def __init__(
        self, step: Step, session: str, now: float, active_time: float, live: LiveEvent
    ) -> None:
        self.step = step
        self.now = now
        self.active_time = active_time
        self.usage: list[Usage] | None = None
        self.retried: list[str] | None = None
        self._session = session
        self._live = live

    @property
    def messages(self) -> Sequence[Message]:
        return self.step.inputs

    @property
    def new_messages(self) -> Sequence[Message]:
        return self.step.fresh

    @property
    def text(self) -> str:
        fresh = self.step.fresh
        if len(fresh) == 1:
            return fresh[0].readable
        return "\n\n".join(filter(None, (message.readable for message in fresh)))

    @property
    def data(self) -> dict[str, Any]:
        return self.step.state.transcript.data(self.step.inputs)

    @property
    def state(self) -> Any:
        return self.step.state.private

    @property
    def node_id(self) -> str:
        return self.step.node.id

    @property
    def round(self) -> int:
        return self.step.round

    @property
    def rounds(self) -> Sequence[tuple[str, int]]:
        return self.step.rounds

    @property
    def address(self) -> str:
        return self.step.address

    @property
    def idempotency_key(self) -> str:
        return f"{self._session}:{self.step.address}"

    @property
    def attempt(self) -> int:
        return 1 if self.retried is None else len(self.retried) + 1

    @property
    def rng(self) -> Random:
        return Random(self.idempotency_key)  # noqa: S311

    @property
    def answer(self) -> Any:
        return self.step.answer

    def emit(self, event: str, data: dict[str, Any]) -> None:
        self._live(self.step, event, data)

    def charge(self, usage: Usage) -> None:
        if self.usage is None:
            self.usage = []
        self.usage.append(usage)
