"""The attempts at one answer: which count, and how long to wait after each."""

from __future__ import annotations

import time
from random import Random

from rondel.models.backoff import Backoff
from rondel.models.failure import Failure
from rondel.models.limiter import Limiter


class Tries:
    """What has been tried so far for one answer.

    Being put off is no failure while the provider says until when, or answers others meanwhile.
    """

    def __init__(self, backoff: Backoff, limiter: Limiter) -> None:
        self.ticket = limiter.ticket()
        self.failed = 0
        self.said_nothing = 0
        self._backoff = backoff
        self._limiter = limiter
        self._rng = Random()  # noqa: S311
        self._waited = 0.0
        self._refused = 0
        self._refused_since: float | None = None
        self._served = limiter.served

    def key(self, idempotency_key: str) -> str:
        """The same key for the same call; an empty answer is not asked for by the same again."""
        if not idempotency_key or not self.said_nothing:
            return idempotency_key
        return f"{idempotency_key}:again {self.said_nothing}"

    def pause_after(self, failure: Failure) -> float | None:
        """Seconds until the next attempt; None: there is none."""
        if failure.lasting:
            self.failed += 1
            return None
        if failure.later:
            return self._put_off(failure.retry_after)
        self.failed += 1
        pause = self._backoff.wait(self.failed, failure.retry_after, self._waited, self._rng)
        self._waited += pause or 0.0
        return pause

    def _put_off(self, asked: float | None) -> float | None:
        """Let all who ask this provider wait; whoever is first in the queue goes first then."""
        now = time.monotonic()
        if self._refused_since is None:
            self._refused_since = now
        self._refused += 1
        served, self._served = self._served, self._limiter.served
        if asked is None and self._served == served:
            self.failed += 1
            if self.failed >= self._backoff.attempts:
                return None
        pause = self._backoff.hold(self._refused, asked, now - self._refused_since, self._rng)
        if pause is None:
            self.failed += 1
            return None
        self._limiter.hold(pause)
        return 0.0
