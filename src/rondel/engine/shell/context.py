"""What a step hands its processor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Final

from mypy_extensions import mypyc_attr

from rondel.engine.core.step import Step
from rondel.engine.message import GivenData, Message, merged_data, task_message
from rondel.engine.protocols import Recalled, Usage

if TYPE_CHECKING:
    from rondel.engine.shell.services import StepServices

NOTHING_RECALLED: Final = Recalled()


def recalled_by(step: Step, seen: Sequence[Message], inputs: Mapping[str, Any]) -> Recalled:
    """What a step is shown; what it sees anyway, word for word, it is not shown again."""
    recall = step.node.recall
    own = step.transcript.own_in(step.frame.loop_entry)
    if not (recall.task or own):
        return NOTHING_RECALLED
    known = {"", *(message.readable for message in seen)}
    task = task_message(inputs) if recall.task else None
    if task is not None and task.readable in known:
        task = None
    return Recalled(task, [message for message in own if message.readable not in known])


@mypyc_attr(free_list_len=1)
class StepContext:
    """The `Context` of one step; everything that costs is computed when it is asked for."""

    __slots__ = ("_services", "call", "now", "retried", "step", "usage")

    def __init__(self, step: Step, services: StepServices, now: float) -> None:
        self.step = step
        self._services = services
        self.now = now
        self.usage: list[Usage] | None = None
        self.retried: list[str] | None = None
        self.call: Awaitable[Any] | None = None
        """What its node has not done yet, if it waits for something."""

    @property
    def active_time(self) -> float:
        return self._services.active_at(self.now)

    @property
    def messages(self) -> Sequence[Message]:
        return self.step.inputs

    @property
    def new_messages(self) -> Sequence[Message]:
        return self.step.fresh

    @property
    def recalled(self) -> Recalled:
        return recalled_by(self.step, self.step.inputs, self._services.inputs)

    @property
    def grows(self) -> bool:
        return self.step.transcript.grows

    @property
    def text(self) -> str:
        fresh = self.step.fresh
        if len(fresh) == 1:
            return fresh[0].readable
        return "\n\n".join(filter(None, (message.readable for message in fresh)))

    @property
    def data(self) -> dict[str, Any]:
        step = self.step
        merged = merged_data(step.inputs) if step.part else step.transcript.data(step.inputs)
        return GivenData(merged)

    @property
    def state(self) -> Any:
        return self.step.private if self.step.part else self.step.transcript.private

    @property
    def node_id(self) -> str:
        return self.step.node.id

    @property
    def session_id(self) -> str:
        return self._services.session

    @property
    def inputs(self) -> Mapping[str, Any]:
        return self._services.inputs

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
        return f"{self._services.session}:{self.step.address}"

    @property
    def offset(self) -> int:
        return max(self.step.part - 1, 0)

    @property
    def attempt(self) -> int:
        return self.step.earlier + len(self.step.attempts) + 1

    @property
    def failed(self) -> int:
        """How many attempts failed since the step was last begun anew."""
        return len(self.step.attempts)

    def put_off(self, error: str, wait: float) -> Coroutine[Any, Any, None]:
        """An attempt failed with this error: return when the next one begins."""
        return self._services.put_off(self, error, wait)

    def until_due(self) -> Coroutine[Any, Any, None]:
        """Return when the next attempt begins, which an earlier process may have put off."""
        return self._services.until_due(self)

    @property
    def rng(self) -> Random:
        return Random(self.idempotency_key)  # noqa: S311

    @property
    def answer(self) -> Any:
        return self.step.answer

    @property
    def signals(self) -> Mapping[str, Any]:
        return self._services.signals

    def emit(self, event: str, data: dict[str, Any]) -> None:
        self._services.emit(self.step, event, data)

    def substep(
        self, name: str, call: Callable[[], Awaitable[Any]], event: str = ""
    ) -> Coroutine[Any, Any, Any]:
        return self._services.substep(self, name, call, event)

    def reserve(self, most: Callable[[], Usage | None]) -> Coroutine[Any, Any, None]:
        return self._services.reserve(self, most)

    @property
    def time_left(self) -> float | None:
        return self._services.gate.time_left(self.step)

    def charge(self, usage: Usage) -> None:
        self._services.charge(self, usage)
