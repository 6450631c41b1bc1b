"""The status of sessions at rest, kept for the next question."""

from __future__ import annotations

from dataclasses import dataclass

from cachetools import LRUCache

from rondel.engine.core.state import SessionState
from rondel.sessions.records import QuestionRecord, Result, questions_of, result_of

KEPT = 64
"""How many sessions are kept; others are read again."""


@dataclass(frozen=True, slots=True)
class Rest:
    """The result and questions of a session at rest, after `length` ticks."""

    result: Result
    asking: list[QuestionRecord]
    length: int
    final: bool
    """Whether it is over for good."""

    @classmethod
    def of(cls, id: str, state: SessionState, length: int) -> Rest:
        """The summary of a state."""
        return cls(result_of(id, state), questions_of(state), length, is_final(state))


def is_final(state: SessionState) -> bool:
    """Whether the session is over and nothing can make it go on."""
    return state.ended and state.failure is None


class StatusCache:
    """Keeps the summaries of the sessions that were asked for last."""

    def __init__(self) -> None:
        self._seen: LRUCache[str, Rest] = LRUCache(KEPT)

    def recall(self, id: str, length: int) -> Rest | None:
        """The summary of the session after `length` ticks, if it is kept."""
        seen = self._seen.get(id)
        return seen if seen is not None and seen.length == length else None

    def keep(self, id: str, rest: Rest) -> None:
        """Keep a summary; the one that was not asked for longest is dropped."""
        self._seen[id] = rest
