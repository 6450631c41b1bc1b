"""How long to wait before a call to a model is made again."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

LONGEST = 30.0
"""Seconds that one wait of our own choice takes at most."""

TOTAL = 120.0
"""Seconds that the waits of one call may take together, those the provider asks for included."""

PATIENCE = 600.0
"""Seconds for which a call lets a provider put it off that says when to come back."""

SHORTEST_HOLD = 0.05
"""Seconds that a provider is left alone at least that has too much to do."""


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

    def hold(self, refused: int, asked: float | None, since: float, rng: Random) -> float | None:
        """Seconds to leave a provider alone that has put a call off so many times.

        `since` are the seconds since the first time. None: it would take longer than our patience.
        """
        pause = asked
        if pause is None:
            longest = min(LONGEST, max(self.base, SHORTEST_HOLD) * 2 ** min(refused - 1, 10))
            pause = rng.uniform(longest / 2, longest)
        return pause if since + pause <= PATIENCE else None
