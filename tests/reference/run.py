"""What a run did and how it ended, for comparison with the engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Execution:
    """One execution of one node: what it saw, as (source, text), and what it emitted."""

    inputs: list[tuple[str, str]]
    outputs: list[str]
    recalled: list[tuple[str, str]] = field(default_factory=list)
    """What it was shown besides, as (source, text)."""
    input_data: list[dict[str, Any]] = field(default_factory=list, compare=False)
    output_data: list[dict[str, Any]] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class LoopRun:
    """One entry of a loop, after its end."""

    head: str
    rounds: int
    reason: str
    value: float | None
    threshold: float | None
    best_round: int | None
    bounded: bool
    has_goal: bool = False


@dataclass(frozen=True)
class RoundRun:
    """One round of one entry: its value, and its gain where the round before has one too."""

    loop: str
    round: int
    value: float | None
    gain: float | None


@dataclass(frozen=True)
class Notice:
    """A `regression` or a `stagnation` that was found at the end of a round."""

    kind: str
    loop: str
    round: int
    delta: float
    action: str


@dataclass(frozen=True)
class Run:
    """What a session did and how it ended."""

    status: str
    reason: str
    output: str
    executions: dict[str, list[Execution]]
    loops: list[LoopRun]
    data: dict[str, Any]
    rounds: list[RoundRun]
    notices: list[Notice]
    happened: Counter[str]
    """How often the rarer rules came to act, for the statistics of the generator."""
