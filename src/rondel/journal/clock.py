"""A clock that never jumps, even if the system's clock is set."""

from __future__ import annotations

import time
import uuid
from functools import cache
from pathlib import Path
from typing import Final

CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", None)
"""The clock that runs while the machine sleeps, too; not every system has it."""

READ_CLOCK: Final = getattr(time, "clock_gettime", None)
MONOTONIC: Final = time.monotonic
"""A constant, so that compiled code does not look up its name."""


def elapsed() -> float:
    """Seconds since a fixed moment, the same for all processes of this machine."""
    if CLOCK is None or READ_CLOCK is None:
        return MONOTONIC()
    return READ_CLOCK(CLOCK)  # type: ignore[no-any-return]


_BOOT = Path("/proc/sys/kernel/random/boot_id")
_BITS = 62


class Clock:
    """The system's time when it was made, plus the time that has passed; it never jumps."""

    __slots__ = ("_began",)

    def __init__(self, at_least: float = 0.0) -> None:
        self._began = max(time.time(), at_least) - elapsed()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._began + elapsed()


@cache
def boot() -> int | None:
    """An id of the machine's current boot; None where the system has none."""
    try:
        return uuid.UUID(_BOOT.read_text().strip()).int >> (128 - _BITS)
    except (OSError, ValueError):
        return None
