"""Sessions at a glance, while nothing is under way in them."""

from __future__ import annotations

from dataclasses import dataclass

from cachetools import LRUCache

from rondel.engine.core.state import SessionState
from rondel.sessions.records import QuestionRecord, Result, questions_of, result_of

KEPT = 64
"""How many sessions are kept as they were last seen; others are read again."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A session at a glance, after so many ticks."""

    result: Result
    asking: list[QuestionRecord]
    length: int
    final: bool
    """Whether it is over for good."""

    @classmethod
    def of(cls, id: str, state: SessionState, length: int) -> Rest:
        """As a state stands."""
        return cls(result_of(id, state), questions_of(state), length, is_final(state))


def is_final(state: SessionState) -> bool:
    """Whether the session is over and nothing can make it go on."""
    return state.ended and state.failure is None


class StatusCache:
    """How the sessions looked that somebody asked about last: a session keeps none of it."""

    def __init__(self) -> None:
        self._seen: LRUCache[str, Rest] = LRUCache(KEPT)

    def recall(self, id: str, length: int) -> Rest | None:
        """The session after so many ticks, if it was seen then."""
        seen = self._seen.get(id)
        return seen if seen is not None and seen.length == length else None

    def keep(self, id: str, rest: Rest) -> None:
        """Remember it for the next who asks; the one not asked for longest is forgotten."""
        self._seen[id] = rest
