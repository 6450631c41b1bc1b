"""The headers of a provider's responses: the request's id, and the calls that it still allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf

Headers = Mapping[str, str]
REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id")

KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
NAMES = ("x-ratelimit-{}-{}", "anthropic-ratelimit-{1}-{0}")
"""The header names of OpenAI and its like, and of Anthropic."""

SPAN = re.compile(r"([0-9.]+)(ms|s|m|h|d)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST = 3600.0
"""The longest wait in seconds; after it the provider is asked again, whatever it said."""

ONE = 1 - 1e-6
"""One call, with a tolerance for rounding."""

_listening: ContextVar[dict[str, str] | None] = ContextVar("_listening", default=None)


@contextmanager
def listening() -> Iterator[Headers]:
    """Collects the response headers of calls made inside; those of the last call stay."""
    headers: dict[str, str] = {}
    token = _listening.set(headers)
    try:
        yield headers
    finally:
        _listening.reset(token)


def note(headers: Headers) -> None:
    """Keep the headers of a response."""
    heard = _listening.get()
    if heard is not None:
        heard.clear()
        heard.update(headers)


def request_id_in(headers: Headers) -> str:
    """The provider's id of the request; empty if it gives none."""
    return next((headers[name] for name in REQUEST_IDS if name in headers), "")


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
