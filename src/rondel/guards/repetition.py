"""Certain repetition: the same output many times in a row, or a cycle of outputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Self

from rondel.guards.novelty import Novelty

LONGEST_CYCLE = 6
TIMES_OVER = 3
"""How often a cycle must be repeated before it counts."""


def is_run(said: Sequence[str], repeats: int) -> bool:
    """Whether the last `repeats` outputs are all the same."""
    return len(said) >= repeats and len(set(said[-repeats:])) == 1


def cycle_in(said: Sequence[str]) -> int | None:
    """The length of the cycle that the last outputs repeated often enough, if there is one."""
    for length in range(2, LONGEST_CYCLE + 1):
        last = said[-length * TIMES_OVER :]
        if len(last) < length * TIMES_OVER or len(set(last)) == 1:
            continue
        if all(last[at] == last[at + length] for at in range(len(last) - length)):
            return length
    return None


class Voice:
    """What one node has said in one entry of a loop."""

    __slots__ = ("_keep", "entropies", "novelty", "said", "warned")

    def __init__(self, window: int, repeats: int) -> None:
        self.novelty = Novelty()
        self.entropies: deque[float] = deque(maxlen=window)
        self.said: list[str] = []
        """The signatures of its newest outputs."""
        self.warned = False
        self._keep = max(repeats, LONGEST_CYCLE * TIMES_OVER)

    def hear(self, signature: str) -> None:
        """Note an output."""
        self.said = [*self.said, signature][-self._keep :]

    @property
    def mean(self) -> float | None:
        """The mean novelty of its last outputs; None while there are too few."""
        if len(self.entropies) < (self.entropies.maxlen or 0):
            return None
        return sum(self.entropies) / len(self.entropies)

    def dump(self) -> list[Any]:
        """Its state as JSON."""
        return [self.novelty.dump(), list(self.entropies), self.said, self.warned]

    @classmethod
    def load(cls, window: int, repeats: int, dumped: Sequence[Any]) -> Self:
        """The voice that `dump` gave this JSON for."""
        voice = cls(window, repeats)
        novelty, entropies, voice.said, voice.warned = dumped
        voice.novelty = Novelty.of(novelty)
        voice.entropies.extend(entropies)
        return voice
