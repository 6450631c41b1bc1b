"""What a session can come back to: the best round of a loop, and where a step failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rondel.engine.core.transcript import Delivery
from rondel.engine.message import Message
from rondel.engine.protocols import Question

if TYPE_CHECKING:
    from rondel.engine.core.contract import LoopEnd
    from rondel.engine.core.frame import Frame
    from rondel.engine.core.step import Step

Emission = tuple[tuple[int, ...], int, int, tuple[Message, ...]]
"""What a loop's way out would carry: prefix, round and level of the step that emitted it, and
its messages. A plain tuple, because every round makes some.
"""


class Remembered(NamedTuple):
    """What a node retained, and what waited for it, when a round ended."""

    retained: list[Message]
    length: int
    """How many of them it was then; the list may have grown since."""
    stamps: list[int]
    keeps: bool
    inbox: list[Delivery]
    own: list[tuple[Message, ...]]
    """What it had said in the entry of its loop."""
    own_entry: int


NOTHING = Remembered([], 0, [], False, [], [], 0)


class Checkpoint(NamedTuple):
    """Where the best round ended, so that a later round can start from there."""

    nodes: Mapping[int, Remembered]
    begun: list[int]


RETRIED = ("step_failed", "contract_failed")
"""The reasons of failed sessions that can go on from where they failed."""


@dataclass(frozen=True, slots=True, eq=False)
class StepFailure:
    """The loops, steps and questions that the failure of a step ended, and that step."""

    step: Step | None
    """None if it was the contract of a loop that failed, or a way out of it."""
    frames: list[Frame]
    steps: list[Step]
    questions: dict[int, Question]
    parked: dict[int, int]
    ends: dict[int, LoopEnd]
    ends_by_loop: dict[tuple[int, ...], bool]
