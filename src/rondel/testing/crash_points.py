"""Killing a real process at a named point, to see what is left.

    run = run_until_crash([sys.executable, "-m", "my_driver"], "before_commit", 3)
    assert run.crashed

The points themselves are in the code under test, see `rondel.journal.crash`; they do nothing in
a process that was not started with the environment that `armed` gives.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from rondel.journal.crash import POINTS, VARIABLE

__all__ = ["POINTS", "CrashedRun", "armed", "run_until_crash"]


@dataclass(frozen=True, slots=True)
class CrashedRun:
    """The output of a process that died or ended."""

    crashed: bool
    returncode: int
    stdout: str
    stderr: str


def armed(point: str, count: int = 1) -> dict[str, str]:
    """The environment of a process that dies at its `count`-th pass of the point."""
    if point not in POINTS:
        raise ValueError(f"there is no crash point {point!r}, only {', '.join(POINTS)}")
    return {**os.environ, VARIABLE: f"{point}:{count}"}


def run_until_crash(
    command: Sequence[str], point: str, count: int = 1, timeout: float = 60.0
) -> CrashedRun:
    """Run the command with the point armed; it dies there, or ends without passing it."""
    done = subprocess.run(  # noqa: S603
        command,
        env=armed(point, count),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    crashed = done.returncode == -signal.SIGKILL
    return CrashedRun(crashed, done.returncode, done.stdout, done.stderr)
