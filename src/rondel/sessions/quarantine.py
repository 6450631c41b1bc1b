"""The quarantine log: all that a session's nodes emitted, read from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from rondel.engine import ticks
from rondel.engine.core import effects as fx
from rondel.engine.core.fold import replay
from rondel.engine.core.state import SessionState
from rondel.engine.message import Message
from rondel.errors import CallError
from rondel.graph.moments import to_microsecond
from rondel.graph.plan import Plan
from rondel.journal.working_memory import confidence_in
from rondel.sessions.records import Record, logical_place


class QuarantineEntry(Record):
    """One message that a node emitted, and where and when."""

    address: str
    node_id: str
    timestamp: str
    content: Any
    data: dict[str, Any]
    confidence: float | None = None
    """`data.confidence`, if it is a number."""
    number: int = 0
    """Its place among the messages of its step, from 0."""


class FinishedStep(msgspec.Struct, frozen=True):
    """A step that is over, with what it emitted."""

    address: str
    node_id: str
    at: float
    messages: Sequence[Message]

    def entries(self) -> list[QuarantineEntry]:
        """Its messages as the log shows them."""
        return [
            QuarantineEntry(
                self.address,
                self.node_id,
                to_microsecond(self.at),
                msgspec.to_builtins(message.content),
                message.data,
                confidence_in(message.data),
                number,
            )
            for number, message in enumerate(self.messages)
        ]


class Quarantine:
    """Folds a journal and keeps what every finished step emitted."""

    def __init__(self, plan: Plan, journal: Iterable[ticks.AnyTick]) -> None:
        state = SessionState(plan)
        steps: list[tuple[tuple[int, ...], int, FinishedStep]] = []
        for tick, effects in replay(state, journal):
            for effect in effects:
                if isinstance(effect, fx.StepTicked) and isinstance(effect.tick, ticks.Finished):
                    step, messages = effect.step, effect.tick.messages
                    if step.part:  # the step whose part it is says the same
                        continue
                    found = FinishedStep(effect.address, step.node.id, tick.at, messages)
                    steps.append((logical_place(step), step.number, found))
        self.inputs = state.inputs
        """What the session was started with."""
        self.steps = [found for *_, found in sorted(steps, key=lambda each: each[:2])]
        """In logical order, the same for every timing."""

    def entries(self) -> list[QuarantineEntry]:
        """The whole log."""
        return [entry for step in self.steps for entry in step.entries()]

    def at(self, address: str) -> FinishedStep:
        """The step at an address; a CallError if there is none, or none that emitted anything."""
        found = next((step for step in self.steps if step.address == address), None)
        if found is None:
            close = get_close_matches(address, [step.address for step in self.steps], 3, 0.5)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise CallError(f"the session has no finished step at {address!r}{hint}")
        if not found.messages:
            raise CallError(f"the step at {address!r} emitted nothing that could be promoted")
        return found


def surest(given: Sequence[float | None]) -> float | None:
    """The highest confidence; None if some message does not say, which is no objection."""
    known = [confidence for confidence in given if confidence is not None]
    return max(known) if len(known) == len(given) else None
