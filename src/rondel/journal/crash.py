"""Points in the code where a test can kill the process, as a power cut would.

`RONDEL_CRASH_AT=before_commit:3` kills the process with SIGKILL when it passes that point for
the third time. Without the variable `ARMED` is False, and a point costs no more than a look at
it. `rondel.testing.crash_points` is the side of this that tests use.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "RONDEL_CRASH_AT"

POINTS = (
    "before_append",
    "after_append",
    "before_commit",
    "after_commit",
    "before_wake",
)
"""All points, in the order in which a tick passes them."""

_name, _, _count = os.environ.get(VARIABLE, "").partition(":")
_left = int(_count or 1)

ARMED = bool(_name)

if ARMED and _name not in POINTS:
    raise SystemExit(f"{VARIABLE}: there is no crash point {_name!r}, only {', '.join(POINTS)}")


def crash_point(name: str) -> None:
    """Kill the process if the environment asks for this pass of this point."""
    global _left  # noqa: PLW0603
    if name != _name:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
