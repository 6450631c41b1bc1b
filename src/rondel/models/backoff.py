"""How long to wait before a call to a model is made again."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

LONGEST = 30.0
"""Seconds that one wait of our own choice takes at most."""

TOTAL = 120.0
"""Seconds that the waits of one call may take together, those the provider asks for included."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, with full jitter; what the provider asks for is waited at least."""

    attempts: int
    base: float

    def wait(self, failed: int, asked: float | None, waited: float, rng: Random) -> float | None:
        """Seconds until the next attempt after that many have failed; None: there is none."""
        if failed >= self.attempts:
            return None
        longest = min(LONGEST, self.base * 2 ** (failed - 1))
        if asked is None:
            pause = rng.uniform(0, longest)
        else:
            pause = asked + rng.uniform(0, min(longest, self.base))
        return pause if waited + pause <= TOTAL else None
