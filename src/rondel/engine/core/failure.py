"""What a session was about when a step failed, so that it can go on from there."""

from __future__ import annotations

from dataclasses import dataclass

from rondel.engine.core.frame import Frame
from rondel.engine.core.loop_end import LoopEnd
from rondel.engine.core.step import Step
from rondel.engine.protocols import Question

RETRIED = ("step_failed", "contract_failed")
"""The reasons of failed sessions that can go on from where they failed."""


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """The loops, steps and questions that the failure of a step ended, and that step."""

    step: Step | None
    """None if it was the contract of a loop that failed, or a way out of it."""
    frames: list[Frame]
    steps: list[Step]
    questions: dict[int, Question]
    parked: dict[int, int]
    ends: dict[int, LoopEnd]
    ends_by_loop: dict[tuple[int, ...], bool]
