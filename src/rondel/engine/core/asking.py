"""What a loop at its limit asks, and what the answers mean."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from rondel.engine.core.frame import Frame
from rondel.engine.core.ruling import Ruling
from rondel.engine.protocols import Question

CONTINUE, BEST, STOP = "continue", "best", "stop"
ACTIONS = [CONTINUE, BEST, STOP]

_ANSWER = re.compile(r"\s*(continue|best|stop)\b[\s:]*(\d{1,6})?\s*", re.IGNORECASE | re.ASCII)


class Choice(NamedTuple):
    """What somebody wants a loop at its limit to do."""

    action: str
    rounds: int | None = None


def limit_question(frame: Frame, ruling: Ruling, refused: str = "") -> Question:
    """How should the loop go on?"""
    progress = frame.progress
    text = (
        f"Loop {frame.scope.name!r} is in round {frame.round} without having reached its goal: "
        f"{ruling.reason}{ruling.figures}."
    )
    if progress.best_round is not None:
        text += f" Its best round is {progress.best_round} ({progress.best_value:g})."
    text += (
        " Answer 'continue' or 'continue N' for more rounds, 'best' to go on with the best round, "
        "or 'stop' to stop the run."
    )
    if refused:
        text += f" {refused!r} is none of these."
    return Question(text, ACTIONS)


def chosen(answer: Any) -> Choice | None:
    """The choice that an answer makes, or None."""
    found = _ANSWER.fullmatch(answer) if isinstance(answer, str) else None
    if found is None:
        return None
    action, rounds = found[1].lower(), int(found[2]) if found[2] else None
    if rounds is not None and (action != CONTINUE or rounds == 0):
        return None
    return Choice(action, rounds)
