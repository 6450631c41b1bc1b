"""Where a round's score is: in the data its messages carry."""

from __future__ import annotations

from rondel.engine.message import Message


def score_in(message: Message) -> float | None:
    """The message's score, or None where there is none; a missing score is never 0."""
    value = message.data.get("score")
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None
