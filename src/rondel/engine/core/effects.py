"""What the core does with a tick: commands for the shell, and marks for those who watch.

Marks carry addresses as they were at that moment: a loop around may be a round further already
when somebody reads them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rondel.engine.core.checkpoint import Emission
from rondel.engine.core.contract import LoopEnd
from rondel.engine.core.frame import Frame
from rondel.engine.core.step import Step
from rondel.engine.message import Message
from rondel.engine.protocols import Question
from rondel.graph.plan import InnerLoop


class Route(msgspec.Struct, eq=False, gc=False):
    """The inner graph of a node is over: send these messages along the node's edges."""

    step: Step
    messages: tuple[Message, ...]


class ProcessWayOut(msgspec.Struct, eq=False, gc=False):
    """A contract ends a loop by edges that process their messages: process them."""

    frame: Frame
    emissions: dict[int, Emission]


class CheckUntil(msgspec.Struct, eq=False, gc=False):
    """A loop's round is over: evaluate the `until` of its contract on what was said."""

    frame: Frame
    data: dict[str, Any]
    text: str


Command = Step | Route | ProcessWayOut | CheckUntil
"""A step is the command to run it."""


class StepStarted(msgspec.Struct, eq=False, gc=False):
    """A node began to run."""

    step: Step
    address: str


class StepTicked(msgspec.Struct, eq=False, gc=False):
    """Something happened to a step; `tick` says what."""

    step: Step
    tick: Any
    address: str


class Skipped(msgspec.Struct, eq=False, gc=False):
    """An item of a round does not run; `around` is the address of what it is in."""

    around: str
    item: int | InnerLoop


class RoundStarted(msgspec.Struct, eq=False, gc=False):
    """A loop began a round."""

    frame: Frame
    round: int
    address: str


class RoundEnded(msgspec.Struct, eq=False, gc=False):
    """A loop's round is over, with its measured value and what that gained."""

    frame: Frame
    round: int
    address: str
    value: float | None
    delta: float | None


class Setback(msgspec.Struct, eq=False, gc=False):
    """A round was worse than the best, or no better; `action` is what the contract says then."""

    frame: Frame
    round: int
    address: str
    regressed: bool
    delta: float
    action: str


class LoopAsked(msgspec.Struct, eq=False, gc=False):
    """A loop at its limit waits for an answer."""

    frame: Frame
    address: str
    question: Question
    messages: list[Message]


class LoopAnswered(msgspec.Struct, eq=False, gc=False):
    """Somebody answered a loop."""

    frame: Frame
    address: str
    tick: Any


class LoopEnded(msgspec.Struct, eq=False, gc=False):
    """A loop is over."""

    frame: Frame
    end: LoopEnd


class StatusChanged(msgspec.Struct, eq=False, gc=False):
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
