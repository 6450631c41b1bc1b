"""Times as text: RFC 3339, in UTC. It is a file of its own, because it is compiled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

KNOWN: Final[dict[int, str]] = {}
"""Seconds as text: events of one second are told together."""

MOST_KNOWN: Final = 64


def to_microsecond(seconds: float) -> str:
    """A time with all that a clock tells."""
    second, part = divmod(round(seconds * 1e6), 1_000_000)
    return f"{_until_second(second)}.{str(1_000_000 + part)[1:]}Z"


def to_millisecond(seconds: float) -> str:
    """A time as people write it."""
    second, part = divmod(int(seconds * 1e6 + 0.5) // 1000, 1000)
    return f"{_until_second(second)}.{str(1000 + part)[1:]}Z"


def _until_second(second: int) -> str:
    text = KNOWN.get(second)
    if text is None:
        if len(KNOWN) >= MOST_KNOWN:
            KNOWN.clear()
        text = KNOWN[second] = datetime.fromtimestamp(second, UTC).isoformat()[:-6]
    return text
