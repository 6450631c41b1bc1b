"""The allowance that a provider reports in its response headers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf

from rondel.models.headers import Headers

KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
NAMES = ("x-ratelimit-{}-{}", "anthropic-ratelimit-{1}-{0}")
"""The header names of OpenAI and its like, and of Anthropic."""

SPAN = re.compile(r"([0-9.]+)(ms|s|m|h|d)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST = 3600.0
"""The longest wait in seconds; after it the provider is asked again, whatever it said."""

ONE = 1 - 1e-6
"""One call, with a tolerance for rounding."""


@dataclass(slots=True)
class Allowance:
    """`left` calls at `since`; the rest of `most` comes back evenly within `full` seconds.

    That is what OpenAI and Anthropic document. A provider that gives all back at once, at the end,
    says "later" to whoever comes before.
    """

    left: float
    most: float
    full: float
    since: float

    def at(self, now: float) -> float:
        """The calls that the provider accepts at that time."""
        passed = now - self.since
        if passed >= self.full:
            return self.most
        return min(self.most, self.left + self._pace * passed)

    def wait(self, now: float) -> float:
        """Seconds until the provider accepts another call."""
        there = self.at(now)
        if there >= ONE:
            return 0.0
        all_back = max(self.since + self.full - now, 0.0)
        return min((1 - there) / self._pace, all_back) if self._pace else all_back

    def take(self, now: float) -> None:
        """Count a call."""
        passed = max(now - self.since, 0.0)
        self.left, self.full, self.since = self.at(now) - 1, max(self.full - passed, 0.0), now
        if self.full == 0.0:
            self.most = inf  # all has come back, and nothing is known of what comes

    @property
    def _pace(self) -> float:
        if self.most == inf or not self.full:
            return 0.0
        return max(self.most - self.left, 0.0) / self.full


def allowance_in(headers: Headers, now: float, flying: int) -> Allowance | None:
    """The scarcest allowance in the headers; None if there is none.

    `flying` are the other calls under way, of which the provider may not know yet. Of tokens it is
    only known that none are left.
    """
    found = [_told(headers, kind, now) for kind in KINDS]
    requests, *tokens = found
    if requests is not None:
        requests.left = max(requests.left - flying, 0.0)
    spent = [each for each in tokens if each is not None and each.left < 1]
    for each in spent:
        each.left, each.most = 0.0, inf
    scarce = [*([] if requests is None else [requests]), *spent]
    return max(scarce, key=lambda each: each.wait(now), default=None)


def _told(headers: Headers, kind: str, now: float) -> Allowance | None:
    for name in NAMES:
        left = _number(headers.get(name.format("remaining", kind)))
        if left is None:
            continue
        most = _number(headers.get(name.format("limit", kind)))
        full = seconds_of(headers.get(name.format("reset", kind), ""))
        if full is None:
            return None
        return Allowance(left, inf if most is None else max(most, left), full, now)
    return None


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 0 <= found < inf else None


def seconds_of(text: str) -> float | None:
    """Seconds from a header: `1s`, `6m0s`, `20ms`, a number of seconds, or a point in time."""
    text = text.strip()
    if (number := _number(text)) is not None:
        return min(number, LONGEST)
    if text and not SPAN.sub("", text):
        return min(sum(float(n) * SECONDS[unit] for n, unit in SPAN.findall(text)), LONGEST)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), LONGEST)
