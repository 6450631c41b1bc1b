"""Time that passes evenly, whatever becomes of the clock on the wall."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

elapsed: Callable[[], float] = time.monotonic
"""Seconds that have passed since some moment, the same for all processes of this machine."""

if hasattr(time, "CLOCK_BOOTTIME"):
    elapsed = partial(time.clock_gettime, time.CLOCK_BOOTTIME)  # counts while the machine sleeps

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_BITS = 62


class Clock:
    """The time on the wall when it began and what has passed since; it never jumps."""

    __slots__ = ("_began",)

    def __init__(self, at_least: float = 0.0) -> None:
        self._began = max(time.time(), at_least) - elapsed()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._began + elapsed()


@cache
def boot() -> int | None:
    """A number of the time since the machine was started; None where the system has none."""
    try:
        return uuid.UUID(_BOOT.read_text().strip()).int >> (128 - _BITS)
    except (OSError, ValueError):
        return None
