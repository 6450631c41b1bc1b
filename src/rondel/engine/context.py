"""What a step hands its processor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from random import Random
from typing import Any, Protocol

from rondel.engine.message import Message
from rondel.engine.protocols import Usage
from rondel.engine.step import Step

_part: ContextVar[list[Usage] | None] = ContextVar("_part", default=None)
"""What the sub-step that this code runs in has been charged so far."""


class Halted(BaseException):
    """The session was locked: the step ends here without a trace and is done again later.

    No node is to catch this, so it is no Exception.
    """


class Spending(Protocol):
    """Leave for model calls."""

    async def reserve(self, step: Step, estimate: Callable[[], Usage]) -> None:
        """Return when the budgets around the step allow such a call."""
        ...

    def charge(self, step: Step, usage: Usage) -> None:
        """A call was made."""
        ...


class Shell(Protocol):
    """What a context needs of the runner around it."""

    session: str
    signals: Mapping[str, Any]

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the session was started with."""
        ...

    def active_at(self, now: float) -> float:
        """Seconds the session has run until then, waiting excluded."""
        ...

    def live(self, step: Step, event: str, data: dict[str, Any], /) -> None:
        """Publish a live event."""
        ...

    async def keep_part(
        self, step: Step, name: str, value: Any, usage: list[Usage], event: str
    ) -> None:
        """Journal a sub-step."""
        ...

    @property
    def halted(self) -> bool:
        """Whether steps under way should not begin anything more."""
        ...

    @property
    def purse(self) -> Spending:
        """Who gives leave for model calls."""
        ...


class StepContext:
    """The `Context` of one step; everything that costs is computed when it is asked for."""

    __slots__ = ("_shell", "now", "retried", "step", "usage")

    def __init__(self, step: Step, shell: Shell, now: float) -> None:
        self.step = step
        self._shell = shell
        self.now = now
        self.usage: list[Usage] | None = None
        self.retried: list[str] | None = None

    @property
    def active_time(self) -> float:
        return self._shell.active_at(self.now)

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
    def session_id(self) -> str:
        return self._shell.session

    @property
    def inputs(self) -> Mapping[str, Any]:
        return self._shell.inputs

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
        return f"{self._shell.session}:{self.step.address}"

    @property
    def offset(self) -> int:
        return 0

    @property
    def attempt(self) -> int:
        return 1 if self.retried is None else len(self.retried) + 1

    @property
    def rng(self) -> Random:
        return Random(self.idempotency_key)  # noqa: S311

    @property
    def answer(self) -> Any:
        return self.step.answer

    @property
    def signals(self) -> Mapping[str, Any]:
        return self._shell.signals

    def emit(self, event: str, data: dict[str, Any]) -> None:
        self._shell.live(self.step, event, data)

    async def substep(self, name: str, call: Callable[[], Awaitable[Any]], event: str = "") -> Any:
        parts = self.step.parts
        if parts is not None and name in parts:
            return parts[name]
        if self._shell.halted:
            raise Halted
        spent: list[Usage] = []
        token = _part.set(spent)
        try:
            value = await call()
            journalled, spent = spent, []
            await self._shell.keep_part(self.step, name, value, journalled, event)
        finally:
            _part.reset(token)
            if spent:
                self.usage = [*(self.usage or ()), *spent]
        return value

    async def reserve(self, estimate: Callable[[], Usage]) -> None:
        if self._shell.halted:
            raise Halted
        await self._shell.purse.reserve(self.step, estimate)

    def charge(self, usage: Usage) -> None:
        spent = _part.get()
        if spent is None:
            spent = self.usage = self.usage or []
        spent.append(usage)
        self._shell.purse.charge(self.step, usage)
