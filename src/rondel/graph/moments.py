"""Times as text: RFC 3339, in UTC. Compiled, so it has a file of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

KNOWN: Final[dict[int, str]] = {}
"""The text of recent seconds; many events share one."""

MOST_KNOWN: Final = 64


def to_microsecond(seconds: float) -> str:
    """A time with microseconds."""
    second, part = divmod(round(seconds * 1e6), 1_000_000)
    return f"{_until_second(second)}.{str(1_000_000 + part)[1:]}Z"


def to_millisecond(seconds: float) -> str:
    """A time with milliseconds."""
    second, part = divmod(int(seconds * 1e6 + 0.5) // 1000, 1000)
    return f"{_until_second(second)}.{str(1000 + part)[1:]}Z"


def _until_second(second: int) -> str:
    text = KNOWN.get(second)
    if text is None:
        if len(KNOWN) >= MOST_KNOWN:
            KNOWN.clear()
        text = KNOWN[second] = datetime.fromtimestamp(second, UTC).isoformat()[:-6]
    return text
