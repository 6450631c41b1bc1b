"""Records of a session: its steps, rounds, model calls and result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from rondel.engine import ticks
from rondel.engine.core import effects as fx
from rondel.engine.core.contract import LoopEnd
from rondel.engine.core.effects import Effect
from rondel.engine.core.fold import replay
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.message import Message, merged_data
from rondel.engine.protocols import Usage
from rondel.engine.shell.context import recalled_by
from rondel.graph.moments import to_microsecond
from rondel.graph.plan import Plan
from rondel.graph.spec import FAILED
from rondel.sessions.event import message_json
from rondel.sessions.events import REFUSED, begins_nothing, loop_json


class Record(msgspec.Struct):
    """A record with fields as attributes and as items."""

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None


class UsageTotal(Record):
    """The sum of the model calls of a session or a step."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    model_calls: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens

    def add(self, usage: Iterable[Usage]) -> None:
        """Count these calls too."""
        for call in usage:
            self.input_tokens += call.input_tokens
            self.output_tokens += call.output_tokens
            self.usd += call.usd
            self.model_calls += 1
            self.cached_tokens += call.cached_tokens
            self.reasoning_tokens += call.reasoning_tokens


class StepRecord(Record):
    """The public record of one step."""

    address: str
    node_id: str
    status: str
    inputs: list[dict[str, Any]]
    recalled: list[dict[str, Any]] = []
    """What it was shown besides its messages: the task, and its node's earlier outputs."""
    outputs: list[dict[str, Any]] = []
    duration: float = 0.0
    usage: UsageTotal = msgspec.field(default_factory=UsageTotal)
    error: str | None = None


class LoopResult(Record):
    """How the last entry of a loop ended."""

    loop: str
    rounds: int
    exit_reason: str
    value: float | None = None
    threshold: float | None = None
    best_round: int | None = None
    bounded: bool = False
    entries: int = 1
    score: float | None = None
    target: float | None = None
    note: str = ""


class Result(Record):
    """What became of a session."""

    status: str
    output: str | None
    data: dict[str, Any]
    loops: list[LoopResult]
    usage: UsageTotal
    reason: str = ""
    message: str = ""
    session_id: str = ""


class QuestionRecord(Record):
    """A question that is open."""

    node_id: str
    address: str
    description: str
    actions: list[str] = []
    deadline: str | None = None


def questions_of(state: SessionState) -> list[QuestionRecord]:
    """The open questions as a state stands, oldest first."""
    found = []
    for number, question in state.questions.items():
        node, address = state.asker(number)
        deadline = None if question.deadline is None else to_microsecond(question.deadline)
        found.append(
            QuestionRecord(node.id, address, question.description, list(question.actions), deadline)
        )
    return found


def result_of(session: str, state: SessionState) -> Result:
    """The result of a session as its state stands."""
    produced = state.output
    return Result(
        status=state.status,
        output=produced[-1].readable if produced else None,
        data=merged_data(produced or ()),
        loops=[LoopResult(**loop_json(end), entries=end.entries) for end in state.loops],
        usage=usage_of(state),
        reason=state.reason,
        message=state.lock.message if state.lock is not None else state.message,
        session_id=session,
    )


def usage_of(state: SessionState) -> UsageTotal:
    """What the session has spent itself, without a shared past."""
    own = state.own
    return UsageTotal(
        own.input_tokens,
        own.output_tokens,
        own.usd,
        state.own_calls,
        own.cached_tokens,
        own.reasoning_tokens,
    )


class CallRecord(Record):
    """One row of the ledger: one model call."""

    session_id: str
    address: str
    node_id: str
    model: str
    input_tokens: int
    output_tokens: int
    usd: float
    duration: float
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    finish_reason: str = ""
    attempt: int = 1
    request_id: str = ""


def ledger_of(
    session: str, plan: Plan, journal: Iterable[ticks.AnyTick], shared: int
) -> list[CallRecord]:
    """The ledger: every model call in a journal, in its order, without the first `shared` ticks."""
    rows: list[CallRecord] = []
    for position, (_, effects) in enumerate(replay(SessionState(plan), journal)):
        if position >= shared:
            rows.extend(_calls_in(session, effects))
    return rows


def _calls_in(session: str, effects: list[Effect]) -> Iterator[CallRecord]:
    for effect in effects:
        if not isinstance(effect, fx.StepTicked):
            continue
        for usage in getattr(effect.tick, "usage", ()):
            call = msgspec.structs.asdict(usage)
            yield CallRecord(session, effect.address, effect.step.node.id, **call)


HELD = 1000
"""How many steps are kept before the settled ones are handed out."""


class StepLister:
    """Folds a journal, from its beginning or from a state on, and keeps every step.

    Their order is the same for every timing.
    """

    def __init__(self, plan: Plan, state: SessionState | None = None) -> None:
        self._state = state or SessionState(plan)
        self._steps: dict[int, tuple[tuple[int, ...], StepRecord]] = {}
        self._dicts: dict[int, tuple[Message, dict[str, Any]]] = {}
        self._due: dict[int, fx.StepStarted] = {}
        """Steps that do not begin while the session is paused or locked."""
        self._next_look = HELD
        for step in self._state.steps.values():
            self._start(step, step.address)

    def list(self, journal: Iterable[ticks.AnyTick]) -> list[StepRecord]:
        """All steps of these ticks."""
        return [*self.stream(journal)]

    def stream(self, journal: Iterable[ticks.AnyTick]) -> Iterator[StepRecord]:
        """All steps of these ticks, one by one; a step is not kept once it is handed out."""
        for _, effects in replay(self._state, journal):
            for effect in effects:
                if isinstance(effect, fx.StepStarted):
                    self._due[effect.step.number] = effect
                elif isinstance(effect, fx.StepTicked):
                    if effect.step.number in self._due:
                        self._begin(effect.step.number)
                    self._note(effect.step, effect.tick)
            if not begins_nothing(self._state):
                for number in [*self._due]:
                    self._begin(number)
            if len(self._steps) >= self._next_look:
                yield from self._settled()
                self._next_look = len(self._steps) + HELD
        yield from self._in_order([*self._steps])

    def _settled(self) -> Iterator[StepRecord]:
        """The finished steps whose place in the order can no longer change."""
        alive = [logical_place(step) for step in self._state.steps.values()]
        if self._state.ended or not alive:
            return
        first = min(alive)
        yield from self._in_order([n for n, (place, _) in self._steps.items() if place < first])

    def _in_order(self, numbers: Sequence[int]) -> Iterator[StepRecord]:
        alive = self._state.steps
        found = [(*self._steps.pop(number), number in alive) for number in numbers]
        self._dicts.clear()
        for _, record, is_alive in sorted(found, key=lambda step: step[0]):
            if not is_alive and record.status in ("running", "suspended"):
                record.status = _cut_off(record)
            yield record

    def _json(self, message: Message) -> dict[str, Any]:
        """One dict for each message, however many steps see it."""
        known = self._dicts.get(id(message))
        if known is None:
            known = self._dicts[id(message)] = (message, message_json(message))
        return known[1]

    def _begin(self, number: int) -> None:
        start = self._due.pop(number)
        self._start(start.step, start.address)

    def _start(self, step: Step, address: str) -> None:
        if step.number in self._steps:  # it failed, and runs again
            self._steps[step.number][1].status = "running"
            return
        inputs = [self._json(message) for message in step.inputs]
        recalled = recalled_by(step, step.inputs, self._state.inputs).messages
        shown = [self._json(message) for message in recalled]
        record = StepRecord(address, step.node.id, "running", inputs, shown)
        self._steps[step.number] = (logical_place(step), record)

    def _note(self, step: Step, tick: Any) -> None:
        record = self._steps[step.number][1]
        record.usage.add(getattr(tick, "usage", ()))
        match tick:
            case ticks.Finished():
                record.status, record.error = "completed", None
                record.outputs = [self._json(message) for message in tick.messages]
                record.duration += tick.took
            case ticks.Failed():
                record.status = "failed"
                record.error = tick.error
                record.duration += tick.took
            case ticks.Refused():
                record.status, record.error = "suspended", REFUSED
                record.duration += tick.took
            case ticks.Suspended():
                record.status = "suspended"
            case ticks.Answered():
                record.status = "running"


def _cut_off(record: StepRecord) -> str:
    """The status of a step that ended without an output: not `skipped` if it was paid for."""
    if record.error != REFUSED:
        return "cancelled"
    return "failed" if record.usage.model_calls else "skipped"


class RoundRecord(Record, gc=False):
    """One round of one entry of a loop."""

    loop: str
    address: str
    round: int
    score: float | None = None
    delta: float | None = None
    tokens: int = 0
    sent_tokens: int = 0
    """Tokens of the input of models."""
    cached_tokens: int = 0
    """Input tokens that the providers had in their cache."""
    new_tokens: int = 0
    """Input tokens that were not cached."""
    usd: float = 0.0
    duration: float = 0.0
    exit_reason: str | None = None
    """Why the loop ended, with its last round."""
    best: bool = False


class RoundLister:
    """Folds a journal, from its beginning or from a state on, and keeps every round that begins."""

    def __init__(self, plan: Plan, state: SessionState | None = None) -> None:
        self._nodes = plan.nodes
        self._state = state or SessionState(plan)
        self._rounds: list[RoundRecord] = []
        self._open: dict[int, tuple[RoundRecord, float]] = {}
        """The current round of each entry of a loop, and when it began."""
        self._numbers: dict[float | None, float | None] = {}
        self._first: dict[int, int] = {}
        """The place of the first round of each entry of a loop."""

    def list(self, journal: Iterable[ticks.AnyTick]) -> list[RoundRecord]:
        """All rounds of these ticks, in the order they began."""
        for tick, effects in replay(self._state, journal):
            for effect in effects:
                self._note(effect, tick.at)
        return self._rounds

    def _note(self, effect: Effect, at: float) -> None:
        match effect:
            case fx.StepTicked():
                if usage := getattr(effect.tick, "usage", ()):
                    self._spend(effect.step, usage)
            case fx.RoundStarted():
                self._begin(effect, at)
            case fx.RoundEnded():
                if (open_round := self._open.pop(effect.frame.entry, None)) is not None:
                    record, began = open_round
                    record.score, record.delta = self._one(effect.value), self._one(effect.delta)
                    record.duration = max(at - began, 0.0)
            case fx.LoopEnded():
                self._end(effect.frame.entry, effect.end)

    def _one(self, number: float | None) -> float | None:
        """One shared object for equal numbers."""
        return self._numbers.setdefault(number, number)

    def _begin(self, effect: fx.RoundStarted, at: float) -> None:
        head = effect.frame.scope.head
        assert head is not None  # noqa: S101
        record = RoundRecord(self._nodes[head].id, effect.address, effect.round)
        self._first.setdefault(effect.frame.entry, len(self._rounds))
        self._rounds.append(record)
        self._open[effect.frame.entry] = (record, at)

    def _spend(self, step: Step, usage: Iterable[Usage]) -> None:
        for loop in step.frame.loops_outward():
            if loop.entry in self._open:
                record = self._open[loop.entry][0]
                for call in usage:
                    record.tokens += call.tokens
                    record.sent_tokens += call.input_tokens
                    record.cached_tokens += call.cached_tokens
                    record.new_tokens += call.input_tokens - call.cached_tokens
                    record.usd += call.usd

    def _end(self, entry: int, end: LoopEnd) -> None:
        first = self._first.pop(entry, None)
        if first is None:
            return
        if end.reason == FAILED:  # it goes on if somebody resumes the session
            self._first[entry] = first
        for record in islice(self._rounds, first, None):
            if record.address.rpartition("[")[0] == end.address:
                record.best = record.round == end.best_round
                record.exit_reason = end.reason if record.round == end.rounds else None


def logical_place(step: Step) -> tuple[int, ...]:
    """Round, level and item of every scope around the step, outermost first."""
    parts: list[tuple[int, ...]] = [(step.round, step.level, step.item, step.part)]
    for frame in step.frame.outward():
        owner, parent = frame.owner, frame.parent
        if owner is not None:
            parts.append((owner.round, owner.level, owner.item, owner.part))
        elif parent is not None:
            parts.append((parent.round, parent.scope.levels[frame.item], frame.item, 0))
    return tuple(number for part in reversed(parts) for number in part)
