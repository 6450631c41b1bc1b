"""A debate killed in round 3 goes on in round 3: no finished turn is asked for again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def debater(folder: Path, db: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fault.debater", str(folder), db]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_debate_killed_in_round_3_goes_on_in_round_3(tmp_path: Path, db: str) -> None:
    assert debater(tmp_path, db).returncode == -signal.SIGKILL
    done = debater(tmp_path, db)
    assert done.returncode == 0, done.stderr
    turns = [f"round {number} turn {turn}" for number in (1, 2, 3) for turn in (1, 2)]
    asked = Counter(
        line.partition(":")[2] for line in (tmp_path / "marks").read_text().splitlines()
    )
    assert asked == {**dict.fromkeys(turns, 1), turns[-1]: 2}
    outcome = json.loads(done.stdout)
    assert outcome["status"] == "completed"
    assert outcome["data"]["total_rounds"] == 3
    history = [each["content"] for each in outcome["data"]["debate_history"]]
    assert outcome["told"] == history
    assert len(history) == 6
