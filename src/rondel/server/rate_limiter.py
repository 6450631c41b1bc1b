"""Limits how many requests a caller may send."""

from __future__ import annotations

import time

MOST = 10_000
"""The most callers that are remembered."""


class RateLimiter:
    """A bucket for every caller: so many at once, and so many a second after that."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> float | None:
        """Count a request; None if it may be, else the seconds to wait."""
        now = time.monotonic()
        left, at = self._buckets.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        if left < 1.0:
            self._buckets[who] = left, now
            return (1.0 - left) / self._rate
        self._buckets[who] = left - 1.0, now
        if len(self._buckets) > MOST:
            del self._buckets[next(iter(self._buckets))]
        return None
