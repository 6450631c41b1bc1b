"""The circuit breaker: locks a session that spends too much, repeats itself, or runs too long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from rondel.engine import ticks
from rondel.engine.core.frame import Frame
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.protocols import Lock, Note
from rondel.graph.guarantees import TellsGuarantee, keeps_to
from rondel.graph.plan import Plan
from rondel.graph.spec import BreakerSpec, NodeSpec
from rondel.guards.repetition import TIMES_OVER, NodeOutputs, cycle_in, is_run
from rondel.guards.sameness import folded, signature, signature_of_call

TOKEN_SURGE = "TOKEN_SURGE"  # noqa: S105
LOOP_DETECTED = "LOOP_DETECTED"
TIMEOUT = "TIMEOUT"
WARNING = "circuit_breaker:warning"
TOOL_CALL = "tool_execution"
"""The event of a sub-step in which a tool was called."""

NEARLY = 0.8
"""The share of the allowed tokens at which it warns."""

Key = tuple[int, int]
"""A node, and the entry of the innermost loop around it."""

_CONVERSATION = re.compile(r"^(.*?)turn \d+ call \d+ ", re.DOTALL)
"""The part of a tool call's name that names the agent, in a step of several agents."""


class Speaker(NamedTuple):
    """The node that spoke in the current tick."""

    key: Key
    node: str
    address: str
    round: int
    signature: str


class Suspicion(NamedTuple):
    """A lock that is due if the loop goes on after this round."""

    round: int
    lock: Lock


class CircuitBreaker(msgspec.Struct, eq=False, gc=False):
    """Watches tokens, repetition and time since the session began or was last unlocked.

    The garbage collector need not track it: it is part of no cycle, and every session has one.
    """

    _spec: BreakerSpec
    _estimate: int | None = None
    _estimated_from: str = ""
    _tokens_before: int = 0
    _time_before: float = 0.0
    _warned_of_tokens: bool = False
    _outputs: dict[Key, NodeOutputs] = {}
    _calls: dict[tuple[int, str], tuple[str, int]] = {}
    """The last tool call and how often it was made in a row, by step and conversation."""
    _suspicions: dict[Key, Suspicion] = {}
    _model_steps: dict[int, None] = {}
    """Steps under way in which a model was asked."""
    due: Lock | None = None
    """A lock that it found and that no tick records yet: a process may die in between."""
    _heard: Speaker | None = None

    @property
    def alert(self) -> bool:
        """Whether it must see every tick, because a lock is due when the current round ends."""
        return bool(self._suspicions)

    # Ticks

    def weigh(self, state: SessionState, tick: ticks.Finished) -> ticks.Finished:
        """Measure what a model said in a loop; other output is not measured."""
        self._heard = None
        if not (tick.usage or tick.step in self._model_steps) or not tick.messages:
            return tick
        step = state.steps[tick.step]
        if step.owner is not None:  # its parts are heard together, when it ends
            self._model_steps[step.owner.number] = None
            return tick
        loop = innermost_loop(step)
        if loop is None or not step.node.spec.breaker or not is_authored(step.node.spec):
            return tick
        key, now = (step.node.index, loop.entry), loop.round
        outputs = self._outputs.get(key) or self._new_outputs(state, key)
        text = folded("\n".join(message.readable for message in tick.messages), now)
        entropy = outputs.novelty.measure(text)
        said = signature(tick.messages, now)
        self._heard = Speaker(key, step.node.id, step.address, now, said)
        if tick.entropy is not None:
            return tick
        return msgspec.structs.replace(tick, entropy=round_off(entropy))

    def learn(self, state: SessionState, tick: ticks.AnyTick) -> Sequence[Lock | Note]:
        """Take in what happened, and say what is wrong with it."""
        found = [*self._found(state, tick), *self._confirmed(state)]
        if found and self.due is None and state.lock is None:
            self.due = next((item for item in found if isinstance(item, Lock)), None)
        return found

    def _found(self, state: SessionState, tick: ticks.AnyTick) -> Sequence[Lock | Note]:
        match tick:
            case ticks.Started():
                self._estimate = self._spec.estimated_tokens or tick.estimate
                self._estimated_from = tick.estimated_from
            case ticks.Finished() if tick.usage or self._heard is not None:
                self._forget(tick.step)
                return [*self._repetition(tick), *self._surge(state), *self._lateness(state)]
            case ticks.Substepped():
                return self._learn_part(state, tick)
            case ticks.Finished() | ticks.Failed() | ticks.Refused():
                self._forget(tick.step)
                return self._surge(state)
            case ticks.Locked():
                self.due = None
            case ticks.Unlocked() | ticks.Forked():
                self._arm(state)
        return ()

    def _forget(self, step: int) -> None:
        """Forget the calls of a finished step."""
        self._model_steps.pop(step, None)
        for key in [key for key in self._calls if key[0] == step]:
            del self._calls[key]

    def _arm(self, state: SessionState) -> None:
        """Count tokens, repetition and time from here on."""
        self.due = None
        self._tokens_before = state.spent.tokens
        self._time_before = state.active
        self._warned_of_tokens = False
        self._outputs.clear()
        self._calls.clear()
        self._suspicions.clear()

    def _new_outputs(self, state: SessionState, key: Key) -> NodeOutputs:
        """The record of a node that speaks for the first time; those of ended loops are dropped."""
        self._outputs = {k: outputs for k, outputs in self._outputs.items() if k[1] in state.frames}
        outputs = self._outputs[key] = NodeOutputs(self._spec.window, self._spec.repeats)
        return outputs

    # Repetition

    def _repetition(self, tick: ticks.Finished) -> Iterator[Lock | Note]:
        heard, self._heard = self._heard, None
        if heard is None:
            return
        outputs = self._outputs[heard.key]
        outputs.add(heard.signature)
        if tick.entropy is not None:
            outputs.entropies.append(tick.entropy)
        mean = outputs.mean
        low = mean is not None and mean < self._spec.min_entropy
        lock = self._repeated(outputs, heard)
        if lock is None and low:
            if self._spec.on_low_novelty == "lock":
                lock = self._stale(outputs, heard)
            elif not outputs.warned:
                stale = self._stale(outputs, heard)
                fields = {"reason": LOOP_DETECTED, "message": stale.message, **stale.figures}
                yield Note(WARNING, fields, heard.node, heard.address)
        outputs.warned = low
        if lock is not None:
            self._suspicions[heard.key] = Suspicion(heard.round, lock)

    def _repeated(self, outputs: NodeOutputs, heard: Speaker) -> Lock | None:
        where = {"node": heard.node, "address": heard.address}
        repeats = self._spec.repeats
        if is_run(outputs.said, repeats):
            message = f"{heard.node!r} has said the same {repeats} times in a row"
            return Lock(LOOP_DETECTED, message, {**where, "repeats": repeats})
        cycle = cycle_in(outputs.said)
        if cycle is None:
            return None
        message = f"{heard.node!r} goes in a circle: the same {cycle} outputs {TIMES_OVER} times"
        return Lock(LOOP_DETECTED, message, {**where, "cycle": cycle, "repeats": TIMES_OVER})

    def _stale(self, outputs: NodeOutputs, heard: Speaker) -> Lock:
        spec, mean = self._spec, outputs.mean or 0.0
        last = f"the last {spec.window} outputs of" if spec.window > 1 else "the last output of"
        message = (
            f"{last} {heard.node!r} said hardly anything new "
            f"(novelty {mean:.2f}, less than {spec.min_entropy:g})"
        )
        figures = {
            "node": heard.node,
            "address": heard.address,
            "entropy": round_off(mean),
            "min_entropy": spec.min_entropy,
            "window": spec.window,
        }
        return Lock(LOOP_DETECTED, message, figures)

    def _confirmed(self, state: SessionState) -> list[Lock]:
        """The suspicions against loops that went on; those against ended loops are dropped."""
        if not self._suspicions:
            return []
        found = []
        for key, (of, lock) in list(self._suspicions.items()):
            frame = state.frames.get(key[1])
            if frame is not None and frame.round <= of and not frame.leaving:
                continue
            del self._suspicions[key]
            if frame is None or frame.leaving or self._has_risen(frame, frame.round - 1):
                continue
            found.append(lock)
        return found

    def _has_risen(self, loop: Frame, rounds: int) -> bool:
        """Whether the best of `rounds` rounds is one of the last few, and not the first."""
        best = loop.progress.best_round
        return best is not None and best > 1 and best > rounds - self._spec.repeats

    # Parts of steps

    def _learn_part(self, state: SessionState, tick: ticks.Substepped) -> list[Lock | Note]:
        found: list[Lock | Note] = []
        if tick.event == TOOL_CALL and isinstance(tick.value, dict):
            found += self._called(state.steps[tick.step], tick)
        if tick.usage:
            self._model_steps[tick.step] = None
            found += self._surge(state)
        return found

    def _called(self, step: Step, tick: ticks.Substepped) -> Iterator[Lock]:
        """Count a tool call; the same call with the same result many times in a row is a lock."""
        if not step.node.spec.breaker:
            return
        conversation = _CONVERSATION.match(tick.name)
        key = tick.step, conversation.group(1) if conversation else ""
        said = signature_of_call(tick.value)
        before, times = self._calls.get(key, ("", 0))
        times = times + 1 if said == before else 1
        self._calls[key] = said, times
        loop = innermost_loop(step)
        if times < self._spec.repeats or (loop and self._has_risen(loop, loop.round - 1)):
            return
        tool = str(tick.value.get("tool", ""))
        message = (
            f"{step.node.id!r} has called {tool!r} {times} times in a row with the same input "
            "and the same result"
        )
        figures = {"node": step.node.id, "address": step.address, "tool": tool, "repeats": times}
        yield Lock(LOOP_DETECTED, message, figures)

    # Tokens and time

    def _surge(self, state: SessionState) -> list[Lock | Note]:
        estimate = self._estimate or self._spec.estimated_tokens
        if not estimate:
            return []
        allowed = self._spec.token_factor * estimate
        used = state.spent.tokens - self._tokens_before
        if used <= allowed * NEARLY:
            return []
        figures = {
            "tokens": used,
            "allowed": allowed,
            "token_factor": self._spec.token_factor,
            "estimated_tokens": estimate,
        }
        source = f" ({self._estimated_from})" if self._estimated_from else ""
        times = f"{self._spec.token_factor:g} times the estimate of {estimate:,}{source}"
        if used > allowed:
            return [Lock(TOKEN_SURGE, f"{used:,} tokens used, more than {times}", figures)]
        if self._warned_of_tokens:
            return []
        self._warned_of_tokens = True
        message = f"{used:,} tokens used; {allowed:,.0f} are allowed, {times}"
        return [Note(WARNING, {"reason": TOKEN_SURGE, "message": message, **figures})]

    def _lateness(self, state: SessionState) -> list[Lock | Note]:
        left = self._spec.timeout - state.active + self._time_before
        return [self.overdue(state, state.last_at)] if left <= 0 else []

    def time_left(self, state: SessionState, now: float) -> float | None:
        """Seconds that the session may still run."""
        return self._spec.timeout - self._ran(state, now)

    def overdue(self, state: SessionState, now: float) -> Lock:
        """The lock for a session that has run too long."""
        ran = self._ran(state, now)
        message = f"running for {ran:.3g} s, longer than {self._spec.timeout:g} s"
        return Lock(TIMEOUT, message, {"running": round(ran, 3), "timeout": self._spec.timeout})

    def _ran(self, state: SessionState, now: float) -> float:
        if state.status == "pending":
            return 0.0
        return now - state.started_at - state.idle - self._time_before

    # Snapshots

    def dump(self) -> Any:
        """Its state as JSON."""
        return {
            "estimate": self._estimate,
            "estimated_from": self._estimated_from,
            "tokens_before": self._tokens_before,
            "time_before": self._time_before,
            "warned_of_tokens": self._warned_of_tokens,
            "model_steps": sorted(self._model_steps),
            "due": None if self.due is None else msgspec.structs.astuple(self.due),
            "speakers": [[*key, outputs.dump()] for key, outputs in self._outputs.items()],
            "calls": [[*key, *call] for key, call in self._calls.items()],
            "suspicions": [
                [*key, of, *msgspec.structs.astuple(lock)]
                for key, (of, lock) in self._suspicions.items()
            ],
        }

    def load(self, known: Any) -> None:
        """Restore its state; outputs in the form of older versions are dropped."""
        self._estimate = known.get("estimate")
        self._estimated_from = known.get("estimated_from", "")
        self._tokens_before = known["tokens_before"]
        self._time_before = known["time_before"]
        self._warned_of_tokens = known["warned_of_tokens"]
        self._model_steps = dict.fromkeys(known["model_steps"])
        self.due = None if known["due"] is None else Lock(*known["due"])
        spec = self._spec
        for node, entry, dumped in known.get("speakers", ()):
            self._outputs[node, entry] = NodeOutputs.load(spec.window, spec.repeats, dumped)
        for step, conversation, said, times in known.get("calls", ()):
            self._calls[step, conversation] = said, times
        for node, entry, of, *lock in known.get("suspicions", ()):
            self._suspicions[node, entry] = Suspicion(of, Lock(*lock))


def round_off(entropy: float) -> float:
    """An entropy, rounded as it is recorded."""
    return round(entropy, 4)


def is_authored(node: NodeSpec) -> bool:
    """Whether a model writes what the node emits, if it asks one."""
    told: Any = node.config if node.processor is None else node.processor
    return not keeps_to(told, TellsGuarantee) or bool(told.guarantee().authored)


def innermost_loop(step: Step) -> Frame | None:
    """The entry of the innermost loop around a step, loops around inner graphs included."""
    return next(iter(step.frame.loops_outward()), None)


def circuit_breaker(plan: Plan) -> CircuitBreaker | None:
    """The breaker of a session of this graph; None if it is off."""
    spec = plan.spec.breaker
    return None if spec is None else CircuitBreaker(spec)
