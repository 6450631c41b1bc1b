"""The circuit breaker: locks a session that spends too much, says nothing new, or runs too long."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rondel.engine import ticks
from rondel.engine.core import Core
from rondel.engine.frame import Frame
from rondel.engine.protocols import Lock, Note
from rondel.engine.step import Step
from rondel.graph.plan import Plan
from rondel.graph.spec import BreakerSpec
from rondel.guards.novelty import Novelty

TOKEN_SURGE = "TOKEN_SURGE"  # noqa: S105
LOOP_DETECTED = "LOOP_DETECTED"
TIMEOUT = "TIMEOUT"
WARNING = "circuit_breaker:warning"

NEARLY = 0.8
"""The share of the allowed tokens at which it warns."""

Key = tuple[int, int]
"""A node, and the entry of the outermost loop around it."""


class Voice:
    """What one node has said in one loop."""

    __slots__ = ("entropies", "novelty", "warned")

    def __init__(self, window: int, novelty: Novelty | None = None) -> None:
        self.novelty = novelty or Novelty()
        self.entropies: deque[float] = deque(maxlen=window)
        self.warned = False

    @property
    def mean(self) -> float:
        """How much of its last outputs was new, on average."""
        return sum(self.entropies) / len(self.entropies)


class CircuitBreaker(msgspec.Struct, eq=False, gc=False):
    """Watches tokens, repetition and time since the session began or was last unlocked.

    It can be part of no cycle, and every session has one: the garbage collector is spared them.
    """

    _spec: BreakerSpec
    _tokens_before: int = 0
    _time_before: float = 0.0
    _warned_of_tokens: bool = False
    _voices: dict[Key, Voice] = {}
    _model_steps: dict[int, None] = {}
    """Steps under way in which a model was asked."""
    due: Lock | None = None
    """The lock it has found that no tick records yet; a process may die in between."""
    _heard: tuple[Key, str, str] | None = None
    """Who spoke in the tick that is being folded in: key, node and address."""

    # Ticks

    def weigh(self, core: Core, tick: ticks.Finished) -> ticks.Finished:
        """Measure what a model said in a loop; anybody else's words do not count."""
        self._heard = None
        if not (tick.usage or tick.step in self._model_steps) or not tick.messages:
            return tick
        step = core.steps[tick.step]
        loop = outermost_loop(step)
        if loop is None:
            return tick
        text = "\n".join(message.text for message in tick.messages)
        if not text.strip():
            return tick
        key = (step.node.index, loop.entry)
        voice = self._voices.get(key) or self._new_voice(core, key)
        entropy = voice.novelty.measure(text)
        self._heard = key, step.node.id, step.address
        if tick.entropy is not None:
            return tick
        return msgspec.structs.replace(tick, entropy=round(entropy, 4))

    def learn(self, core: Core, tick: ticks.AnyTick) -> Sequence[Lock | Note]:
        """Take in what happened, and say what is wrong with it."""
        found = self._found(core, tick)
        if found and self.due is None and core.lock is None:
            self.due = next((item for item in found if isinstance(item, Lock)), None)
        return found

    def _found(self, core: Core, tick: ticks.AnyTick) -> Sequence[Lock | Note]:
        match tick:
            case ticks.Started():
                return ()
            case ticks.Finished() if tick.usage or self._heard is not None:
                self._model_steps.pop(tick.step, None)
                return [*self._repetition(tick), *self._surge(core), *self._lateness(core)]
            case ticks.Substepped() if tick.usage:
                self._model_steps[tick.step] = None
                return self._surge(core)
            case ticks.Failed():
                self._model_steps.pop(tick.step, None)
                return self._surge(core)
            case ticks.Locked():
                self.due = None
            case ticks.Unlocked() | ticks.Forked():
                self._arm(core)
        return ()

    def _arm(self, core: Core) -> None:
        """From here on everything counts anew."""
        self.due = None
        self._tokens_before = core.spent.tokens
        self._time_before = core.active
        self._warned_of_tokens = False
        self._voices.clear()

    def _new_voice(self, core: Core, key: Key) -> Voice:
        """Somebody speaks for the first time; who spoke in loops that are over is forgotten."""
        self._voices = {k: voice for k, voice in self._voices.items() if k[1] in core.frames}
        voice = self._voices[key] = Voice(self._spec.window)
        return voice

    # Repetition

    def _repetition(self, tick: ticks.Finished) -> Iterator[Lock | Note]:
        if self._heard is None or tick.entropy is None:
            return
        key, node, address = self._heard
        self._heard = None
        voice = self._voices[key]
        voice.entropies.append(tick.entropy)
        spec, count = self._spec, len(voice.entropies)
        if count == spec.window and voice.mean < spec.min_entropy:
            yield Lock(
                LOOP_DETECTED,
                f"the last {count} outputs of {node!r} say almost nothing new "
                f"(novelty {voice.mean:.2f}, at least {spec.min_entropy:g} is expected)",
                {
                    "node": node,
                    "address": address,
                    "entropy": round(voice.mean, 4),
                    "min_entropy": spec.min_entropy,
                    "window": spec.window,
                },
            )
            return
        repeats = count > 1 and max(list(voice.entropies)[-2:]) < spec.min_entropy
        if repeats and not voice.warned:
            figures = {"entropy": tick.entropy, "min_entropy": spec.min_entropy}
            message = f"{node!r} begins to repeat itself"
            face = {"reason": LOOP_DETECTED, "message": message, **figures}
            yield Note(WARNING, face, node, address)
        voice.warned = repeats

    # Tokens and time

    def _surge(self, core: Core) -> list[Lock | Note]:
        if not self._spec.estimated_tokens:
            return []
        allowed = self._spec.token_factor * self._spec.estimated_tokens
        used = core.spent.tokens - self._tokens_before
        if used <= allowed * NEARLY:
            return []
        figures = {"tokens": used, "allowed": allowed, "token_factor": self._spec.token_factor}
        if used > allowed:
            message = (
                f"{used:,} tokens used, more than {self._spec.token_factor:g} times the estimate"
            )
            return [Lock(TOKEN_SURGE, message, figures)]
        if self._warned_of_tokens:
            return []
        self._warned_of_tokens = True
        message = f"{used:,} of {allowed:,.0f} tokens are used"
        return [Note(WARNING, {"reason": TOKEN_SURGE, "message": message, **figures})]

    def _lateness(self, core: Core) -> list[Lock | Note]:
        left = self._spec.timeout - core.active + self._time_before
        return [self.overdue(core, core.last_at)] if left <= 0 else []

    def time_left(self, core: Core, now: float) -> float | None:
        """Seconds that the session may still run."""
        return self._spec.timeout - self._ran(core, now)

    def overdue(self, core: Core, now: float) -> Lock:
        """The lock for a session that has run too long."""
        ran = self._ran(core, now)
        message = f"running for {ran:.0f} s, longer than {self._spec.timeout:g} s"
        return Lock(TIMEOUT, message, {"running": round(ran, 3), "timeout": self._spec.timeout})

    def _ran(self, core: Core, now: float) -> float:
        if core.status == "pending":
            return 0.0
        return now - core.started_at - core.idle - self._time_before

    # Snapshots

    def dump(self) -> Any:
        """What it knows, as JSON can hold it."""
        return {
            "tokens_before": self._tokens_before,
            "time_before": self._time_before,
            "warned_of_tokens": self._warned_of_tokens,
            "model_steps": sorted(self._model_steps),
            "due": None if self.due is None else msgspec.structs.astuple(self.due),
            "voices": [
                [*key, voice.novelty.dump(), list(voice.entropies), voice.warned]
                for key, voice in self._voices.items()
            ],
        }

    def load(self, known: Any) -> None:
        """Know that again."""
        self._tokens_before = known["tokens_before"]
        self._time_before = known["time_before"]
        self._warned_of_tokens = known["warned_of_tokens"]
        self._model_steps = dict.fromkeys(known["model_steps"])
        self.due = None if known["due"] is None else Lock(*known["due"])
        for node, entry, novelty, entropies, warned in known["voices"]:
            voice = self._voices[node, entry] = Voice(self._spec.window, Novelty.of(novelty))
            voice.entropies.extend(entropies)
            voice.warned = warned


def outermost_loop(step: Step) -> Frame | None:
    """The entry of the outermost loop around a step, loops around inner graphs included."""
    found: Frame | None = None
    frame: Frame | None = step.frame
    while frame is not None:
        if frame.scope.head is not None:
            found = frame
        frame = frame.parent
    return found


def circuit_breaker(plan: Plan) -> CircuitBreaker | None:
    """The breaker of a session of this graph; None if it is off."""
    spec = plan.spec.breaker
    return None if spec is None else CircuitBreaker(spec)
