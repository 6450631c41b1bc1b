"""The controls of a session; each knows which states take it, and which tick it records."""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec

from rondel.engine import ticks
from rondel.engine.core.state import SessionState
from rondel.errors import CallError, WrongState


class Control(msgspec.Struct, frozen=True, tag_field="do", omit_defaults=True):
    """The base of all controls; `by` says who asked for it.

    Each has a method `tick(session, state, now)`: the tick to record, or None if there is nothing
    to do; it raises WrongState if the session's state does not take it.
    """

    by: str = ""


class Answer(Control, frozen=True, tag="answer"):
    """Answer the oldest open question, or that of a node."""

    text: Any = None
    node: str | None = None

    def tick(self, session: str, state: SessionState, now: float) -> ticks.Answered:
        return ticks.Answered(now, self._step(session, state), self.text, self.by)

    def _step(self, session: str, state: SessionState) -> int:
        for number in state.questions:
            asking, _ = state.asker(number)
            if self.node in (None, asking.id, asking.name):
                return number
        if self.node is not None and state.plan.node(self.node) is None:
            raise CallError(f"session {session} has no node {self.node!r}")
        whose = f" of node {self.node!r}" if self.node is not None else ""
        raise WrongState(f"session {session} is {state.status}: no open question{whose} to answer")


class Pause(Control, frozen=True, tag="pause"):
    """Start no further step; steps under way finish."""

    def tick(self, session: str, state: SessionState, now: float) -> ticks.Paused | None:
        _demand_alive(session, state, "paused")
        if state.lock is not None:
            raise WrongState(f"session {session} is locked; it starts no step until it is unlocked")
        return None if state.paused else ticks.Paused(now, self.by)


class Resume(Control, frozen=True, tag="resume"):
    """Go on after a pause, a failed step, or the end of the process that drove the session.

    `free` says that it does not pause after rounds any more.
    """

    free: bool = False

    def tick(
        self, session: str, state: SessionState, now: float
    ) -> ticks.Resumed | ticks.Retried | None:
        if state.ended:
            return None if state.failure is None else ticks.Retried(now, self.by)
        if state.lock is not None:
            raise WrongState(f"session {session} is locked; unlock it to go on")
        stands = state.status in ("paused", "running") or (self.free and not state.free)
        return ticks.Resumed(now, self.by, self.free) if stands else None


class Stop(Control, frozen=True, tag="stop"):
    """End the session; steps under way are cancelled."""

    def tick(self, session: str, state: SessionState, now: float) -> ticks.Stopped | None:
        if state.status == "cancelled":
            return None
        _demand_alive(session, state, "stopped")
        return ticks.Stopped(now, self.by)


class Signal(Control, frozen=True, tag="signal"):
    """Tell the session something that later steps can read."""

    name: str = ""
    data: Any = None

    def tick(self, session: str, state: SessionState, now: float) -> ticks.Signalled:
        _demand_alive(session, state, "signalled")
        return ticks.Signalled(now, self.name, self.data, self.by)


class Unlock(Control, frozen=True, tag="unlock"):
    """Open a lock: with a justification, or with exactly three checks made."""

    risk_justification: str = ""
    safety_checks: list[bool] = []

    def tick(self, session: str, state: SessionState, now: float) -> ticks.Unlocked | None:
        _demand_alive(session, state, "unlocked")
        if state.lock is None:
            return None
        if not self.risk_justification.strip() and self.safety_checks != [True, True, True]:
            raise CallError(
                "to unlock, say why (risk_justification) or confirm exactly three safety checks"
            )
        return ticks.Unlocked(now, self.by, self.risk_justification.strip())


class Expire(Control, frozen=True, tag="expire"):
    """Settle the oldest question whose deadline has passed."""

    def tick(
        self,
        session: str,  # noqa: ARG002
        state: SessionState,
        now: float,
    ) -> ticks.Answered | ticks.Failed | None:
        for number, question in state.questions.items():
            if question.deadline is None or question.deadline > now:
                continue
            if question.otherwise is not None:
                return ticks.Answered(now, number, question.otherwise, "timeout")
            return ticks.Failed(now, number, "nobody answered in time", "timeout")
        return None


AnyControl = Answer | Pause | Resume | Stop | Signal | Unlock | Expire

_decoder: msgspec.json.Decoder[AnyControl] = msgspec.json.Decoder(AnyControl)


def to_letter(control: AnyControl) -> bytes:
    """A control as the content of a letter."""
    return msgspec.json.encode(control)


def from_letter(letter: bytes) -> AnyControl:
    """The control in a letter; raises CallError if this version does not know it."""
    try:
        return _decoder.decode(letter)
    except msgspec.MsgspecError as error:
        raise CallError(f"this version of Rondel does not know such a control: {error}") from error


REFUSALS = (WrongState, CallError)
"""The errors with which a session refuses a control."""


def refusal_of(error: WrongState | CallError) -> str:
    """An error as the text of a reply."""
    return f"{type(error).__name__}: {error}"


def raise_refusal(refusal: str) -> NoReturn:
    """Raise the error that a reply holds."""
    kind, _, sentence = refusal.partition(": ")
    raise (CallError if kind == CallError.__name__ else WrongState)(sentence)


def _demand_alive(session: str, state: SessionState, what: str) -> None:
    if state.ended:
        raise WrongState(f"session {session} is {state.status}; it cannot be {what} any more")
