"""A command that is killed in the middle, and its session, which goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.command import ROOT


def rondel(*arguments: object) -> list[str]:
    """The command line."""
    return [sys.executable, "-m", "rondel", *map(str, arguments)]


def killed(file: Path, db: str, wait: Callable[[], object], *options: object) -> str:
    """Run a graph, kill the process when `wait` returns; the session's id."""
    command = rondel("run", file, "-i", "the task", "--db", db, *options)
    quiet = subprocess.DEVNULL
    running = subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=quiet)
    try:
        wait()
    finally:
        running.kill()
        running.wait(60)
    listed = subprocess.check_output(rondel("sessions", "--json", "--db", db), cwd=ROOT)
    (session,) = json.loads(listed)["sessions"]
    return str(session["session_id"])


def resumed(session: str, db: str, *options: object) -> dict[str, Any]:
    """Go on with a session to its end: its result."""
    command = rondel("resume", session, "--json", "--db", db, *options)
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
