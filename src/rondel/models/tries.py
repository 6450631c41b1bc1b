"""The attempts at one answer: how one fails, which ones count, and the pause after each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import Random
from typing import Literal

from rondel.engine.protocols import Usage
from rondel.models.limiter import Limiter

LONGEST = 30.0
"""The longest pause that we choose ourselves, in seconds."""

TOTAL = 120.0
"""The most seconds that all pauses of one call may take together."""

PATIENCE = 600.0
"""The most seconds for which a provider that says when to come back may put off a call."""

SHORTEST_HOLD = 0.05
"""The least seconds for which an overloaded provider is left alone."""

Reached = Literal["nobody", "refused", "worked"]
"""How far a call came: not sent, refused at the provider, or begun to answer."""


class Failure(Exception):
    """A failed call: what went wrong and what to do. A `lasting` failure would happen again.

    `retry_after` are the seconds that the provider asks to be left alone. With `later` it only
    says that it has too much to do now. `usage` is what the call took, as far as that is known.
    """

    def __init__(
        self,
        what: str,
        remedy: str,
        *,
        lasting: bool = False,
        retry_after: float | None = None,
        later: bool = False,
        reached: Reached = "refused",
        usage: Usage | None = None,
    ) -> None:
        self.what = what
        self.remedy = remedy
        self.lasting = lasting
        self.retry_after = retry_after
        self.later = later
        self.reached = reached
        self.usage = usage
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off with full jitter; never shorter than the provider asks for."""

    attempts: int
    base: float

    def wait(self, failed: int, asked: float | None, waited: float, rng: Random) -> float | None:
        """Seconds until the next attempt after `failed` ones; None if there is none."""
        if failed >= self.attempts:
            return None
        longest = min(LONGEST, self.base * 2 ** (failed - 1))
        if asked is None:
            pause = rng.uniform(0, longest)
        else:
            pause = asked + rng.uniform(0, min(longest, self.base))
        return pause if waited + pause <= TOTAL else None

    def hold(self, refused: int, asked: float | None, since: float, rng: Random) -> float | None:
        """Seconds to leave alone a provider that has put off a call `refused` times.

        `since` are the seconds since the first time. None: it would take longer than our patience.
        """
        pause = asked or 0.0
        if pause <= 0.0:  # it says nothing, or a moment that has passed
            longest = min(LONGEST, max(self.base, SHORTEST_HOLD) * 2 ** min(refused - 1, 10))
            pause = rng.uniform(longest / 2, longest)
        return pause if since + pause <= PATIENCE else None


class Tries:
    """Counts the attempts at one answer.

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
        """The idempotency key: the same for a repeated call, a new one after an empty answer."""
        if not idempotency_key or not self.said_nothing:
            return idempotency_key
        return f"{idempotency_key}:again {self.said_nothing}"

    def pause_after(self, failure: Failure) -> float | None:
        """Seconds until the next attempt; None if there is none."""
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
        """Let all callers of this provider wait; their order in the queue stays."""
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
