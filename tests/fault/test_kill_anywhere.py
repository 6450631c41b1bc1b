"""A session killed at any journal write goes on where it was: same result, no effect twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest

from tests.fault.victims import VICTIMS

POINTS = ("before_commit", "after_commit")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("victim", VICTIMS)
def test_killed_at_every_write_a_session_goes_on(victim: str, point: str, tmp_path: Path) -> None:
    assert kills(victim, point, tmp_path) >= 8


@pytest.mark.parametrize(("victim", "point"), [*zip(VICTIMS, cycle(POINTS), strict=False)])
def test_so_it_does_on_postgresql(victim: str, point: str, tmp_path: Path, database: str) -> None:
    assert kills(victim, point, tmp_path, RONDEL_FAULT_DATABASE=database) >= 8


def kills(victim: str, point: str, folder: Path, **more: str) -> int:
    """How many kills of that victim made no difference."""
    armed = {**os.environ, "RONDEL_CRASH_AT": f"{point}:999999999", **more}
    command = [sys.executable, "-m", "tests.fault.campaign", victim, point, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=armed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["kills"])
