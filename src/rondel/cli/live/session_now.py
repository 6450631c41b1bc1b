"""What is under way in a session at this moment, folded from its events; without a terminal."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rondel.cli.language import translated, words
from rondel.graph.spec import FAILED
from rondel.sessions.event import Event

SCORES = 60
"""How many scores of a loop are kept to be shown."""

TAIL = 400
"""How much of what a model says is kept."""


@dataclass(slots=True)
class StepNow:
    """One step under way."""

    address: str
    node: str
    since: float
    attempt: int = 1
    speaker: str = ""
    turns: int = 0
    text: str = ""
    tool: str = ""
    waits: str = ""


@dataclass(slots=True)
class LoopNow:
    """One entry of a loop: its round, its scores and what it has spent."""

    key: str
    """Its address without the round: `Outline[1]/Draft`."""
    head: str
    round: int = 0
    scores: deque[float] = field(default_factory=lambda: deque(maxlen=SCORES))
    tokens: int = 0
    usd: float = 0.0

    def holds(self, address: str) -> bool:
        """Whether something is inside it."""
        return address.startswith(f"{self.key}[")


class SessionNow:
    """The visible state of a session, folded from its events."""

    def __init__(self) -> None:
        self.running: dict[str, StepNow] = {}
        self.loops: dict[str, LoopNow] = {}
        self.asked: dict[str, str] = {}
        """The open questions: address and node."""
        self.status = ""
        self.began: float | None = None
        self.steps = 0
        self.tokens = 0
        self.usd = 0.0
        self._broken: dict[str, LoopNow] = {}
        """Loops that a failed step ended; they go on if it is retried."""

    def fold(self, event: Event) -> None:
        """Take the next event."""
        at = seconds(event.timestamp)
        if self.began is None:
            self.began = at
        address = event.address or ""
        match event.event:
            case "session_state_change":
                self._turn(event)
            case "node_state_change":
                self._node(event, address, at)
            case "loop:round_started" | "loop:round_completed":
                self._round(event, key_of(address))
            case "loop:exited":
                self._leave(event, address)
            case "human_input_required":
                self.asked[address] = str(event.node_id)
            case "human_input_received":
                self.asked.pop(address, None)
            case _:
                self._of_step(event, address)

    def around(self, address: str) -> Iterator[LoopNow]:
        """The loops that something is in, outermost first."""
        return (loop for loop in self.loops.values() if loop.holds(address))

    def depth(self, address: str) -> int:
        """How many loops something is in."""
        return sum(1 for _ in self.around(address))

    def restart(self, now: float) -> None:
        """Another process begins again what was under way."""
        self.began = now
        self._mend()
        for step in self.running.values():
            step.since = now

    def _turn(self, event: Event) -> None:
        self.status = event.data["status"]
        if self.status == "running":
            self._mend()

    def _mend(self) -> None:
        self.loops |= self._broken
        self._broken = {}

    def _node(self, event: Event, address: str, at: float) -> None:
        if event.data["status"] == "running":
            self.running[address] = StepNow(address, str(event.node_id), at)
            return
        self.running.pop(address, None)
        self.steps += event.data["status"] == "completed"

    def _round(self, event: Event, key: str) -> None:
        loop = self.loops.get(key)
        if loop is None:
            loop = self.loops[key] = LoopNow(key, event.data["loop"])
        loop.round = event.data["round"]
        if event.data.get("score") is not None:
            loop.scores.append(event.data["score"])

    def _leave(self, event: Event, address: str) -> None:
        loop = self.loops.pop(address, None)
        if loop is not None and event.data["exit_reason"] == FAILED:
            self._broken[address] = loop

    def _of_step(self, event: Event, address: str) -> None:
        data = event.data
        if event.event == "token_usage":
            self._spend(address, data["input_tokens"] + data["output_tokens"], data["usd"])
        step = self.running.get(address)
        if step is None:
            return
        step.waits = ""
        match event.event:
            case "model_waiting":
                step.waits = waiting_text(data)
            case "token_stream":
                step.speaker = data.get("agent") or ""
                step.text = text_after(step.text, event)[-TAIL:]
                step.tool = ""
            case "debate:round":
                step.turns += 1
                step.text = step.speaker = ""
            case "tool_execution":
                step.tool = data["tool"]
            case "error" if data["kind"] == "retry":
                step.attempt += 1
                step.text = step.tool = ""

    def _spend(self, address: str, tokens: int, usd: float) -> None:
        self.tokens += tokens
        self.usd += usd
        for loop in self.around(address):
            loop.tokens += tokens
            loop.usd += usd


def text_after(before: str, event: Event) -> str:
    """What a step has said with this piece; an empty one makes void what came before it."""
    chunk: str = event.data["chunk"]
    return before + chunk if chunk else ""


def key_of(address: str) -> str:
    """The address of a round without its number."""
    return address.rpartition("[")[0]


def seconds(timestamp: str) -> float:
    """A timestamp as seconds."""
    return datetime.fromisoformat(timestamp).timestamp()


def waiting_text(data: Mapping[str, Any]) -> str:
    """For how long a model is not asked, and why."""
    reason = translated(data["reason"])
    return words("waits {seconds} s: {reason}", seconds=f"{data['seconds']:g}", reason=reason)
