"""What the core does with a tick: commands for the shell, and marks for those who watch.

Marks carry addresses as they were at that moment: a loop around may be a round further already
when somebody reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rondel.engine.endings import LoopEnd
from rondel.engine.frame import Frame
from rondel.engine.message import Message
from rondel.engine.progress import Emission
from rondel.engine.protocols import Question
from rondel.engine.step import Step
from rondel.graph.plan import Group


@dataclass(slots=True)
class Route:
    """The inner graph of a node is over: send these messages along the node's edges."""

    step: Step
    messages: list[Message]


@dataclass(slots=True)
class Leave:
    """A contract ends a loop by edges that process their messages: process them."""

    frame: Frame
    emissions: dict[int, Emission]


@dataclass(slots=True)
class Judge:
    """A loop's round is over: see whether what it goes on for holds."""

    frame: Frame
    data: dict[str, Any]
    text: str


Command = Step | Route | Leave | Judge
"""A step is the command to run it."""


@dataclass(slots=True)
class StepStarted:
    """A node began to run."""

    step: Step
    address: str


@dataclass(slots=True)
class StepTicked:
    """Something happened to a step; `tick` says what."""

    step: Step
    tick: Any
    address: str


@dataclass(slots=True)
class Skipped:
    """An item of a round does not run; `around` is the address of what it is in."""

    around: str
    item: int | Group


@dataclass(slots=True)
class RoundStarted:
    """A loop began a round."""

    frame: Frame
    round: int
    address: str


@dataclass(slots=True)
class RoundEnded:
    """A loop's round is over, with its measured value and what that gained."""

    frame: Frame
    round: int
    address: str
    value: float | None
    delta: float | None


@dataclass(slots=True)
class Setback:
    """A round was worse than the best, or no better; `action` is what the contract says then."""

    frame: Frame
    round: int
    address: str
    regressed: bool
    delta: float
    action: str


@dataclass(slots=True)
class LoopAsked:
    """A loop at its limit waits for an answer."""

    frame: Frame
    address: str
    question: Question
    messages: list[Message]


@dataclass(slots=True)
class LoopAnswered:
    """Somebody answered a loop."""

    frame: Frame
    address: str
    tick: Any


@dataclass(slots=True)
class LoopEnded:
    """A loop is over."""

    frame: Frame
    end: LoopEnd


@dataclass(slots=True)
class StatusChanged:
    """The session's status changed."""

    status: str
    reason: str


Effect = (
    StepStarted
    | StepTicked
    | Skipped
    | RoundStarted
    | RoundEnded
    | Setback
    | LoopAsked
    | LoopAnswered
    | LoopEnded
    | StatusChanged
)
