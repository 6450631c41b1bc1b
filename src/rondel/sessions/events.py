"""Telling events: the public form of what folding the journal gives."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from rondel.engine import ticks
from rondel.engine.core import effects as fx
from rondel.engine.core.contract import LoopEnd
from rondel.engine.core.effects import Effect
from rondel.engine.core.fold import apply
from rondel.engine.core.frame import Frame
from rondel.engine.core.snapshot import dump, load
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.message import Message
from rondel.engine.protocols import Question, Usage
from rondel.engine.shell.context import recalled_by
from rondel.engine.ticks import Finished
from rondel.graph.guarantees import NO_RECALL
from rondel.graph.moments import to_microsecond
from rondel.graph.plan import InnerLoop, Plan
from rondel.sessions.event import Event, message_json

REFUSED: Final = "the budget around the step is used up"


class RoundTally:
    """What a loop's current round has spent so far."""

    __slots__ = ("cached", "entropies", "sent", "tokens", "usd")

    def __init__(self) -> None:
        self.tokens = 0
        self.sent = 0
        """Those of them that models were sent."""
        self.cached = 0
        """Those of these that their providers had already."""
        self.usd = 0.0
        self.entropies: list[float] = []

    @property
    def entropy(self) -> float | None:
        """How much of what models said in the round was new, on average."""
        count = len(self.entropies)
        return round(sum(self.entropies) / count, 4) if count else None


def begins_nothing(state: SessionState) -> bool:
    """Whether no step begins that is due, until somebody resumes or unlocks the session."""
    return state.paused or state.lock is not None


class Narrator:
    """Folds a session's ticks and tells its events, in order, each with its number."""

    def __init__(self, session: str, plan: Plan, debug: bool = False) -> None:
        self.session = session
        self.plan = plan
        self.debug = debug
        self.seq = 0
        self._effects: list[Effect] = []
        self.state = SessionState(plan, self._effects)
        self._follows = False
        """Whether somebody else folds into the state."""
        self._not_begun: dict[int, fx.StepStarted] = {}
        """Steps that are due and do not begin, while the session is paused or locked."""
        self._tallies: dict[int, RoundTally] = {}
        self._at = ""
        self._told: list[Event] = []

    def fold(self, tick: ticks.AnyTick) -> list[Event]:
        """Fold the next tick; returns its events."""
        if self._follows:
            self._fold_alone()
        self._effects.clear()
        apply(self.state, tick)
        return self.events_of(tick)

    def follow(self, state: SessionState) -> None:
        """Somebody else folds from now on, into a state that is as far as this one's."""
        if state.effects is None:
            state.effects = []
        self.state, self._effects, self._follows = state, state.effects, True

    def _fold_alone(self) -> None:
        """Go on with a copy of the state: nobody else folds any more, but somebody may read it."""
        self._effects = []
        state = SessionState(self.plan, self._effects)
        load(state, dump(self.state))
        self.state, self._follows = state, False

    def events_of(self, tick: ticks.AnyTick) -> list[Event]:
        """The events of the tick that was folded last."""
        self._at = to_microsecond(tick.at)
        told = self._told = []
        for effect in self._effects:
            if isinstance(effect, fx.StepStarted):
                if begins_nothing(self.state):
                    self._not_begun[effect.step.number] = effect
                else:
                    self._tell_start(effect)
            elif isinstance(effect, fx.StepTicked):
                start = self._not_begun.pop(effect.step.number, None) if self._not_begun else None
                if start is not None:
                    self._tell_start(start)
                self._tell_step(effect, effect.tick)
            elif isinstance(effect, fx.RoundStarted | fx.RoundEnded | fx.Setback):
                self._tell_round(effect)
            else:
                self._tell_rest(effect)
        if type(tick) is not Finished:
            self._tell_control(tick)
        if self._not_begun and not begins_nothing(self.state):
            for start in () if self.state.ended else self._not_begun.values():
                self._tell_start(start)
            self._not_begun.clear()
        return told

    @staticmethod
    def live(session: str, step: Step, event: str, data: dict[str, Any]) -> Event:
        """An event that is not in the journal."""
        at = to_microsecond(time.time())
        return Event(None, event, at, session, step.node.id, step.address, data)

    def _say(
        self, name: str, data: dict[str, Any], node: str | None = None, address: str | None = None
    ) -> None:
        self.seq += 1
        self._told.append(Event(self.seq, name, self._at, self.session, node, address, data))

    # Steps

    def _tell_state(
        self,
        effect: fx.StepStarted | fx.StepTicked,
        status: str,
        more: dict[str, Any] | None,
    ) -> None:
        data = {**more, "status": status} if more else {"status": status}
        self._say("node_state_change", data, effect.step.node.id, effect.address)

    def _tell_start(self, effect: fx.StepStarted) -> None:
        self._tell_state(effect, "running", self._shown(effect.step))

    def _shown(self, step: Step) -> dict[str, Any] | None:
        """What a step is shown besides its messages: whose words they are."""
        if step.node.recall is NO_RECALL:
            return None
        recalled = recalled_by(step, step.inputs, self.state.inputs).messages
        whose = [{"source": message.source, "role": message.role} for message in recalled]
        return {"recalled": whose} if whose else None

    def _tell_of_step(self, effect: fx.StepTicked, name: str, data: dict[str, Any]) -> None:
        self._say(name, data, effect.step.node.id, effect.address)

    def _tell_step(self, effect: fx.StepTicked, tick: Any) -> None:
        for error in getattr(tick, "retried", ()):
            self._tell_of_step(effect, "error", {"error": error, "kind": "retry"})
        for usage in getattr(tick, "usage", ()):
            self._tell_spending(effect, usage)
        match tick:
            case ticks.Finished():
                self._tell_end(effect, tick)
            case ticks.Failed():
                self._tell_of_step(effect, "error", {"error": tick.error, "kind": tick.kind})
                self._tell_state(effect, "failed", {"error": tick.error})
            case ticks.Attempted():
                self._tell_of_step(effect, "error", {"error": tick.error, "kind": "retry"})
            case ticks.Refused():
                self._tell_state(effect, self._refused(effect.step, tick), {"error": REFUSED})
            case ticks.Suspended():
                self._tell_state(effect, "suspended", None)
                data = _question(tick.question, effect.step.inputs)
                self._tell_of_step(effect, "human_input_required", data)
            case ticks.Substepped() if tick.event:
                self._tell_of_step(effect, tick.event, tick.value)
            case ticks.Answered():
                data = {"answer": tick.answer, "by": tick.by}
                self._tell_of_step(effect, "human_input_received", data)

    def _tell_end(self, effect: fx.StepTicked, tick: ticks.Finished) -> None:
        if tick.entropy is not None:
            for tally in self._tallies_around(effect.step):
                tally.entropies.append(tick.entropy)
        self._tell_state(effect, "completed", tick.report)
        if self.debug:
            for edge in tick.fired:
                spec = self.plan.edges[edge].spec
                data = {"from": spec.source, "to": spec.target}
                node, address = effect.step.node.id, effect.address
                told = Event(None, "edge_fired", self._at, self.session, node, address, data)
                self._told.append(told)

    def _tell_spending(self, effect: fx.StepTicked, usage: Usage) -> None:
        for tally in self._tallies_around(effect.step):
            tally.tokens += usage.tokens
            tally.sent += usage.input_tokens
            tally.cached += usage.cached_tokens
            tally.usd += usage.usd
        data = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "usd": usage.usd,
            "model": usage.model,
            **_remarks(usage),
        }
        self._tell_of_step(effect, "token_usage", data)

    def _tallies_around(self, step: Step) -> list[RoundTally]:
        entries = [loop.entry for loop in step.frame.loops_outward()]
        return [self._tallies[entry] for entry in entries if entry in self._tallies]

    # Loops

    def _tell_round(self, effect: fx.RoundStarted | fx.RoundEnded | fx.Setback) -> None:
        entry = effect.frame.entry
        match effect:
            case fx.RoundStarted():
                self._tallies[entry] = RoundTally()
                self._tell_of_round("loop:round_started", effect, {})
            case fx.RoundEnded():
                tally = self._tallies[entry]
                figures: dict[str, Any] = {
                    "score": effect.value,
                    "delta": effect.delta,
                    "tokens": tally.tokens,
                    "sent_tokens": tally.sent,
                    "cached_tokens": tally.cached,
                    "new_tokens": tally.sent - tally.cached,
                    "usd": tally.usd,
                    "entropy": tally.entropy,
                }
                self._tell_of_round("loop:round_completed", effect, figures)
            case fx.Setback():
                name = "loop:regression" if effect.regressed else "loop:stagnation"
                figures = {"delta": effect.delta, "action": effect.action}
                self._tell_of_round(name, effect, figures)

    def _tell_of_round(
        self,
        name: str,
        effect: fx.RoundStarted | fx.RoundEnded | fx.Setback,
        figures: dict[str, Any],
    ) -> None:
        head = self._head_of(effect.frame)
        data = {"loop": head, "round": effect.round, **figures}
        self._say(name, data, head, effect.address)

    def _head_of(self, frame: Frame) -> str:
        assert frame.scope.head is not None  # noqa: S101
        return self.plan.nodes[frame.scope.head].id

    # What is rare

    def _tell_rest(self, effect: Effect) -> None:
        match effect:
            case fx.StatusChanged():
                data = {"status": effect.status, "reason": effect.reason}
                if self.state.message and self.state.ended:
                    data["message"] = self.state.message
                self._say("session_state_change", data)
            case fx.Skipped():
                self._tell_skipped(effect)
            case fx.LoopAsked():
                data = _question(effect.question, effect.messages)
                head = self._head_of(effect.frame)
                self._say("human_input_required", data, head, effect.address)
            case fx.LoopAnswered():
                data = {"answer": effect.tick.answer, "by": effect.tick.by}
                head = self._head_of(effect.frame)
                self._say("human_input_received", data, head, effect.address)
            case fx.LoopEnded():
                if not self.state.ended:  # else the session may go on, and the loop with it
                    self._tallies.pop(effect.frame.entry, None)
                end = effect.end
                self._say("loop:exited", loop_json(end), end.loop, end.address)

    def _refused(self, step: Step, tick: ticks.Refused) -> str:
        """The status of a step that may spend no more: what was paid for was not skipped."""
        if step.number in self.state.parked:
            return "suspended"
        return "failed" if tick.usage or step.parts else "skipped"

    def _tell_skipped(self, effect: fx.Skipped) -> None:
        item = effect.item
        for node in item.nodes if isinstance(item, InnerLoop) else (item,):
            plan_node = self.plan.nodes[node]
            address = effect.around + plan_node.name
            self._say("node_state_change", {"status": "skipped"}, plan_node.id, address)

    def _tell_control(self, tick: ticks.AnyTick) -> None:
        if isinstance(tick, ticks.Locked):
            self._say("circuit_breaker:tripped", _lock_json(tick))
        elif isinstance(tick, ticks.Unlocked):
            data = {"by": tick.by, "risk_justification": tick.justification}
            self._say("circuit_breaker:unlocked", data)
        elif isinstance(tick, ticks.Noted):
            self._say(tick.event, tick.data, tick.node or None, tick.address or None)


def loop_json(end: LoopEnd) -> dict[str, Any]:
    """How a loop ended, as the outside sees it."""
    return {
        "loop": end.loop,
        "rounds": end.rounds,
        "exit_reason": end.reason,
        "value": end.value,
        "threshold": end.threshold,
        "best_round": end.best_round,
        "bounded": end.bounded,
        "score": end.score,
        "target": end.target,
        "note": end.note,
    }


def _lock_json(tick: ticks.Locked) -> dict[str, Any]:
    return {"reason": tick.reason, "message": tick.message, **tick.figures}


def _question(question: Question, messages: Iterable[Message]) -> dict[str, Any]:
    return {
        "description": question.description,
        "messages": [message_json(message) for message in messages],
        "actions": question.actions,
        "deadline": to_microsecond(question.deadline) if question.deadline is not None else None,
    }


def _remarks(usage: Usage) -> dict[str, Any]:
    """What is to be said of a call that is not said of every one."""
    names = ("cached_tokens", "reasoning_tokens", "estimated", "finish_reason", "request_id")
    remarks = {name: getattr(usage, name) for name in names}
    told = {name: value for name, value in remarks.items() if value}
    return {**told, "attempt": usage.attempt} if usage.attempt > 1 else told
