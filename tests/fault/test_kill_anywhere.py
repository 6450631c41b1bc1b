"""A session killed at any journal write goes on where it was: same result, no effect twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fault.victims import VICTIMS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
@pytest.mark.parametrize("victim", VICTIMS)
def test_killed_at_every_write_a_session_goes_on(victim: str, point: str, tmp_path: Path) -> None:
    armed = {**os.environ, "RONDEL_CRASH_AT": f"{point}:999999999"}
    command = [sys.executable, "-m", "tests.fault.campaign", victim, point, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=armed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"] >= 8
