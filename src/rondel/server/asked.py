"""The open questions of sessions at rest, kept for the next who asks for them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from cachetools import LRUCache

KEPT = 32 * 1024 * 1024
"""The bytes that are kept; what was not asked for longest is read again."""

OVERHEAD = 400


@dataclass(frozen=True, slots=True)
class Asked:
    """A session's open questions after so many ticks, as JSON."""

    length: int
    questions: list[msgspec.Raw]

    @property
    def size(self) -> int:
        """The bytes of memory that it takes."""
        return OVERHEAD + sum(len(memoryview(question)) for question in self.questions)


class AskedQuestions:
    """Keeps questions of the sessions that were asked for last."""

    def __init__(self) -> None:
        self._known: LRUCache[str, Asked] = LRUCache(KEPT, getsizeof=lambda asked: asked.size)

    def get(self, id: str) -> Asked | None:
        """The questions of a session, if they are kept."""
        return self._known.get(id)

    def keep(self, id: str, length: int, questions: list[msgspec.Raw]) -> None:
        """Keep the questions of a session; those that are too large are not kept."""
        asked = Asked(length, questions)
        if asked.size < KEPT // 8:
            self._known[id] = asked
        else:
            self._known.pop(id, None)
