"""One process for each measurement: started, timed out, and read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.contender import Contender
from benchmarks.environment import python_of
from benchmarks.measurement import Measurement
from benchmarks.probe import Figures
from benchmarks.workload import Workload

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Absent:
    """Why there is no measurement: nothing comparable, too slow, or broken."""

    word: str
    """What stands in the table."""
    reason: str = ""


NO_COUNTERPART = Absent("–")

Outcome = Measurement | Absent


def run(contender: Contender, workload: Workload, size: int, limit: float) -> Outcome:
    """One measurement, or why there is none."""
    words = [f"benchmarks.contenders.{contender.name}", workload.id, str(size)]
    try:
        figures = _answer(python_of(contender), words, limit)
    except subprocess.TimeoutExpired:
        return Absent(f"over {limit:g} s")
    except (OSError, _Broken) as error:
        return Absent("failed", str(error))
    return NO_COUNTERPART if figures is None else Measurement(**figures)


def probe(name: str, size: int, limit: float) -> Figures | Absent:
    """The figures of one question to Rondel, or why there are none."""
    try:
        figures: Figures = _answer(
            Path(sys.executable), [f"benchmarks.probes.{name}", str(size)], limit
        )
    except subprocess.TimeoutExpired:
        return Absent(f"over {limit:g} s")
    except (OSError, _Broken) as error:
        return Absent("failed", str(error))
    return figures


class _Broken(Exception):
    """The process failed; the message is its last line."""


def _answer(python: Path, words: list[str], limit: float) -> Any:
    with tempfile.TemporaryDirectory() as scratch:  # one that is killed leaves nothing behind
        done = subprocess.run(
            [str(python), "-m", *words],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": scratch},
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    if done.returncode:
        raise _Broken((done.stderr.strip().splitlines() or ["it gave no reason"])[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def as_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as it is kept."""
    return asdict(outcome)


def from_json(kept: dict[str, Any]) -> Outcome:
    """An outcome that was kept."""
    return Absent(**kept) if "word" in kept else Measurement(**kept)
