"""A session of a ChatDev graph that is killed anywhere goes on by ChatDev's rules, as observed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLED = {
    "a loop that exits with nodes pending": "cd-103",
    "a loop entered again and a person": "cd-142",
    "a subgraph and a person": "cd-162",
    "the review loop of the seeds": "seed-a-three-revisions",
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("case", KILLED.values(), ids=KILLED)
def test_a_killed_session_goes_on_as_observed(case: str, tmp_path: Path) -> None:
    armed = {**os.environ, "RONDEL_CRASH_AT": "before_commit:999999999"}
    command = [sys.executable, "-m", "tests.conformance.killed", str(tmp_path), case]
    done = subprocess.run(
        command, cwd=ROOT, env=armed, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10
