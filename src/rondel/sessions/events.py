"""Events: the public face of what folding the journal gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from rondel.engine import effects as fx
from rondel.engine import ticks
from rondel.engine.core import Core
from rondel.engine.effects import Effect
from rondel.engine.endings import LoopEnd
from rondel.engine.frame import Frame
from rondel.engine.message import Message
from rondel.engine.protocols import Question, Usage
from rondel.engine.step import Step
from rondel.graph.plan import Group, Plan


class Event(msgspec.Struct, frozen=True, gc=False):
    """One thing the outside sees; `seq` is None for live events, which are not durable."""

    seq: int | None
    event: str
    timestamp: str
    session_id: str
    node_id: str | None
    address: str | None
    data: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        if name not in self.__struct_fields__:
            raise KeyError(name)
        return getattr(self, name)


def timestamp(seconds: float) -> str:
    """RFC 3339, in UTC."""
    second, micro = divmod(round(seconds * 1e6), 1_000_000)
    return f"{_second(second)}.{micro:06}Z"


@lru_cache(maxsize=64)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:-6]


def message_face(message: Any) -> dict[str, Any]:
    """A message as the outside sees it."""
    return {
        "source": message.source,
        "role": message.role,
        "content": msgspec.to_builtins(message.content),
        "data": message.data,
    }


REFUSED = "the budget around the step is used up"


class RoundTally:
    """What a loop's current round has spent so far."""

    __slots__ = ("entropies", "tokens", "usd")

    def __init__(self) -> None:
        self.tokens = 0
        self.usd = 0.0
        self.entropies: list[float] = []

    @property
    def entropy(self) -> float | None:
        """How much of what models said in the round was new, on average."""
        count = len(self.entropies)
        return round(sum(self.entropies) / count, 4) if count else None


class Narrator:
    """Folds a session's ticks and tells its events, in order, each with its number."""

    def __init__(self, session: str, plan: Plan, debug: bool = False) -> None:
        self.session = session
        self.plan = plan
        self.debug = debug
        self.seq = 0
        self._effects: list[Effect] = []
        self.core = Core(plan, self._effects)
        self._tallies: dict[int, RoundTally] = {}
        self._at = ""

    def tell(self, tick: ticks.AnyTick) -> list[Event]:
        """The events of the next tick."""
        self._effects.clear()
        self.core.apply(tick)
        self._at = timestamp(tick.at)
        told: list[Event] = []
        tellers = self._tellers
        for effect in self._effects:
            told += tellers[effect.__class__](self, effect)
        if tick.__class__ is ticks.Finished:
            return told
        if isinstance(tick, ticks.Locked):
            told.append(self._event("circuit_breaker:tripped", _lock_face(tick)))
        elif isinstance(tick, ticks.Unlocked):
            face = {"by": tick.by, "risk_justification": tick.justification}
            told.append(self._event("circuit_breaker:unlocked", face))
        elif isinstance(tick, ticks.Noted):
            where = tick.node or None, tick.address or None
            told.append(self._event(tick.event, tick.data, *where))
        return told

    @staticmethod
    def live(session: str, step: Step, event: str, data: dict[str, Any]) -> Event:
        """An event that is not in the journal."""
        at = timestamp(time.time())
        return Event(None, event, at, session, step.node.id, step.address, data)

    def _event(
        self, name: str, data: dict[str, Any], node: str | None = None, address: str | None = None
    ) -> Event:
        self.seq += 1
        return Event(self.seq, name, self._at, self.session, node, address, data)

    def _status(self, effect: fx.StatusChanged) -> Iterator[Event]:
        data = {"status": effect.status, "reason": effect.reason}
        if self.core.message and self.core.ended:
            data["message"] = self.core.message
        yield self._event("session_state_change", data)

    def _step_started(self, effect: fx.StepStarted) -> Iterable[Event]:
        return (self._node_state(effect, "running"),)

    def _node_state(
        self,
        effect: fx.StepStarted | fx.StepTicked,
        status: str,
        more: dict[str, Any] | None = None,
    ) -> Event:
        self.seq += 1
        data = {**more, "status": status} if more else {"status": status}
        node, address = effect.step.node.id, effect.address
        return Event(self.seq, "node_state_change", self._at, self.session, node, address, data)

    def _of_step(
        self, effect: fx.StepStarted | fx.StepTicked, name: str, data: dict[str, Any]
    ) -> Event:
        return self._event(name, data, effect.step.node.id, effect.address)

    def _step_ticked(self, effect: fx.StepTicked) -> Iterable[Event]:
        tick = effect.tick
        if tick.__class__ is not ticks.Finished or tick.usage or tick.retried or self.debug:
            return self._step_told(effect, tick)
        if tick.entropy is not None:
            self._note_entropy(effect.step, tick.entropy)
        return (self._node_state(effect, "completed", tick.report),)

    def _step_told(self, effect: fx.StepTicked, tick: Any) -> Iterator[Event]:
        for error in getattr(tick, "retried", ()):
            yield self._of_step(effect, "error", {"error": error, "kind": "retry"})
        for usage in getattr(tick, "usage", ()):
            yield self._spent(effect, usage)
        match tick:
            case ticks.Finished():
                yield from self._finished(effect, tick)
            case ticks.Failed():
                yield self._of_step(effect, "error", {"error": tick.error, "kind": tick.kind})
                yield self._node_state(effect, "failed", {"error": tick.error})
            case ticks.Refused():
                parked = effect.step.number in self.core.parked
                status = "suspended" if parked else "skipped"
                yield self._node_state(effect, status, {"error": REFUSED})
            case ticks.Suspended():
                yield self._node_state(effect, "suspended")
                face = _question(tick.question, effect.step.inputs)
                yield self._of_step(effect, "human_input_required", face)
            case ticks.Substepped() if tick.event:
                yield self._of_step(effect, tick.event, tick.value)
            case ticks.Answered():
                face = {"answer": tick.answer, "by": tick.by}
                yield self._of_step(effect, "human_input_received", face)

    def _finished(self, effect: fx.StepTicked, tick: ticks.Finished) -> Iterator[Event]:
        if tick.entropy is not None:
            self._note_entropy(effect.step, tick.entropy)
        yield self._node_state(effect, "completed", tick.report)
        if self.debug:
            for edge in tick.fired:
                spec = self.plan.edges[edge].spec
                face = {"from": spec.source, "to": spec.target}
                node, address = effect.step.node.id, effect.address
                yield Event(None, "edge_fired", self._at, self.session, node, address, face)

    def _note_entropy(self, step: Step, entropy: float) -> None:
        for tally in self._tallies_around(step):
            tally.entropies.append(entropy)

    def _spent(self, effect: fx.StepTicked, usage: Usage) -> Event:
        for tally in self._tallies_around(effect.step):
            tally.tokens += usage.tokens
            tally.usd += usage.usd
        face = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "usd": usage.usd,
            "model": usage.model,
        }
        return self._of_step(effect, "token_usage", face)

    def _tallies_around(self, step: Step) -> Iterator[RoundTally]:
        for frame in _loops_around(step.frame):
            if frame.entry in self._tallies:
                yield self._tallies[frame.entry]

    def _skipped(self, effect: fx.Skipped) -> Iterator[Event]:
        item = effect.item
        for node in item.nodes if isinstance(item, Group) else (item,):
            plan_node = self.plan.nodes[node]
            address = effect.around + plan_node.name
            yield self._event("node_state_change", {"status": "skipped"}, plan_node.id, address)

    def _round_started(self, effect: fx.RoundStarted) -> Iterator[Event]:
        self._tallies[effect.frame.entry] = RoundTally()
        yield self._round_event("loop:round_started", effect, {})

    def _round_ended(self, effect: fx.RoundEnded) -> Iterator[Event]:
        tally = self._tallies[effect.frame.entry]
        figures = {
            "score": effect.value,
            "delta": effect.delta,
            "tokens": tally.tokens,
            "usd": tally.usd,
            "entropy": tally.entropy,
        }
        yield self._round_event("loop:round_completed", effect, figures)

    def _round_event(
        self,
        name: str,
        effect: fx.RoundStarted | fx.RoundEnded | fx.Setback,
        figures: dict[str, Any],
    ) -> Event:
        head = self.plan.nodes[effect.frame.scope.head]  # type: ignore[index]
        data = {"loop": head.id, "round": effect.round, **figures}
        return self._event(name, data, head.id, effect.address)

    def _setback(self, effect: fx.Setback) -> Iterator[Event]:
        name = "loop:regression" if effect.regressed else "loop:stagnation"
        yield self._round_event(name, effect, {"delta": effect.delta, "action": effect.action})

    def _loop_asked(self, effect: fx.LoopAsked) -> Iterator[Event]:
        face = _question(effect.question, effect.messages)
        yield self._of_loop("human_input_required", effect, face)

    def _loop_answered(self, effect: fx.LoopAnswered) -> Iterator[Event]:
        face = {"answer": effect.tick.answer, "by": effect.tick.by}
        yield self._of_loop("human_input_received", effect, face)

    def _of_loop(
        self, name: str, effect: fx.LoopAsked | fx.LoopAnswered, data: dict[str, Any]
    ) -> Event:
        head = self.plan.nodes[effect.frame.scope.head]  # type: ignore[index]
        return self._event(name, data, head.id, effect.address)

    def _loop_ended(self, effect: fx.LoopEnded) -> Iterator[Event]:
        self._tallies.pop(effect.frame.entry, None)
        end = effect.end
        yield self._event("loop:exited", loop_face(end), end.loop, end.address)

    _tellers: dict[type, Callable[[Any, Any], Iterable[Event]]] = {
        fx.StatusChanged: _status,
        fx.StepStarted: _step_started,
        fx.StepTicked: _step_ticked,
        fx.Skipped: _skipped,
        fx.RoundStarted: _round_started,
        fx.RoundEnded: _round_ended,
        fx.Setback: _setback,
        fx.LoopAsked: _loop_asked,
        fx.LoopAnswered: _loop_answered,
        fx.LoopEnded: _loop_ended,
    }


def loop_face(end: LoopEnd) -> dict[str, Any]:
    """How a loop ended, as the outside sees it."""
    return {
        "loop": end.loop,
        "rounds": end.rounds,
        "exit_reason": end.reason,
        "value": end.value,
        "threshold": end.threshold,
        "best_round": end.best_round,
        "bounded": end.bounded,
    }


def _lock_face(tick: ticks.Locked) -> dict[str, Any]:
    return {"reason": tick.reason, "message": tick.message, **tick.figures}


def _loops_around(frame: Frame) -> Iterator[Frame]:
    current: Frame | None = frame
    while current is not None:
        if current.scope.head is not None:
            yield current
        current = current.parent


def _question(question: Question, messages: Iterable[Message]) -> dict[str, Any]:
    return {
        "description": question.description,
        "messages": [message_face(message) for message in messages],
        "actions": question.actions,
        "deadline": timestamp(question.deadline) if question.deadline is not None else None,
    }
