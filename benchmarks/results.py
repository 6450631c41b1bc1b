"""What was measured: the raw figures of each workload, with the day and the machine."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.contender import FLOOR, Contender
from benchmarks.measurement import Measurement
from benchmarks.probe import Figures
from benchmarks.process import Absent, Outcome, as_json, from_json, probe
from benchmarks.progress import note
from benchmarks.workload import Workload

FOLDER = Path(__file__).parent / "results"
FILE = FOLDER / "results.json"

PROBE_LIMIT = 180.0
"""Seconds that one question may take."""


def machine_in_words() -> str:
    """What it was measured on, as far as it matters."""
    kind = {"x86_64": "x86-64", "aarch64": "ARM 64"}.get(platform.machine(), platform.machine())
    flags = Path("/proc/cpuinfo")
    shared = flags.exists() and "hypervisor" in flags.read_text()
    place = f"a shared {kind} cloud machine" if shared else f"one {kind} machine"
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{os.cpu_count()} cores of {place}, {platform.system()}, Python {python}"


@dataclass(slots=True)
class Series:
    """All outcomes of one workload, measured in one go."""

    day: str = ""
    machine: str = ""
    cells: dict[str, dict[int, list[Outcome]]] = field(default_factory=dict)

    @classmethod
    def begun_now(cls) -> Series:
        """An empty one of today and this machine."""
        return cls(datetime.now(UTC).date().isoformat(), machine_in_words())

    def add(self, contender: Contender, size: int, outcome: Outcome) -> None:
        """Keep one more outcome."""
        self.cells.setdefault(contender.name, {}).setdefault(size, []).append(outcome)

    def passes(self, contender: Contender, size: int) -> list[Outcome]:
        """All outcomes of a contender at a size."""
        return self.cells.get(contender.name, {}).get(size, [])

    def best(self, contender: Contender, size: int, clock: str) -> Outcome:
        """The best measurement, or why there is none."""
        outcomes = self.passes(contender, size)
        done = [outcome for outcome in outcomes if isinstance(outcome, Measurement)]
        if done:
            return min(done, key=lambda one: one.per_step(clock))
        absent = [outcome for outcome in outcomes if isinstance(outcome, Absent)]
        return absent[0] if absent else Absent("–")

    def figure(self, contender: Contender, size: int, workload: Workload) -> float | Absent:
        """What the tables show: in the workload's unit, above the floor for CPU time."""
        outcome = self.best(contender, size, workload.clock)
        if isinstance(outcome, Absent):
            return outcome
        if workload.unit == "s":
            return outcome.wall
        if workload.unit == "events per second":
            return workload.proof(size) / outcome.cpu
        own = outcome.per_step(workload.clock)
        if workload.clock == "wall" or contender.is_floor:
            return own
        floor = self.best(FLOOR, size, workload.clock)
        return own - (floor.per_step(workload.clock) if isinstance(floor, Measurement) else 0)

    def disk(self, contender: Contender, size: int) -> int | None:
        """Bytes that a run left on the disk."""
        outcome = self.best(contender, size, "wall")
        return outcome.disk if isinstance(outcome, Measurement) else None

    def version(self, contender: Contender) -> str:
        """The version that was measured."""
        for outcomes in self.cells.get(contender.name, {}).values():
            for outcome in outcomes:
                if isinstance(outcome, Measurement) and outcome.version:
                    return outcome.version
        return ""

    def contenders(self, everyone: Iterable[Contender]) -> list[Contender]:
        """Those who took part."""
        return [one for one in everyone if one.name in self.cells]


@dataclass(slots=True)
class Results:
    """Everything measured so far."""

    series: dict[str, Series] = field(default_factory=dict)
    probes: dict[str, Figures] = field(default_factory=dict)

    def ask(self, probes: Mapping[str, int]) -> None:
        """Add the answers to the questions that only Rondel is asked."""
        for name, size in probes.items():
            note(name.replace("_", " "))
            figures = probe(name, size, PROBE_LIMIT)
            if isinstance(figures, Absent):
                self.probes.pop(name, None)
                note(f"{name}: {figures.word} {figures.reason}")
            else:
                self.probes[name] = figures

    @classmethod
    def read(cls, file: Path = FILE) -> Results:
        """What a file holds; nothing if there is none."""
        if not file.exists():
            return cls()
        kept = json.loads(file.read_text())
        return cls({name: _series(one) for name, one in kept["workloads"].items()}, kept["probes"])

    def write(self, file: Path = FILE) -> None:
        """Keep everything."""
        file.parent.mkdir(exist_ok=True)
        workloads = {name: _kept(self.series[name]) for name in sorted(self.series)}
        kept = {"workloads": workloads, "probes": self.probes}
        file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def _kept(series: Series) -> dict[str, Any]:
    cells = {
        name: {str(size): [as_json(one) for one in outcomes] for size, outcomes in sizes.items()}
        for name, sizes in series.cells.items()
    }
    return {"day": series.day, "machine": series.machine, "contenders": cells}


def _series(kept: dict[str, Any]) -> Series:
    cells = {
        name: {int(size): [from_json(one) for one in outcomes] for size, outcomes in sizes.items()}
        for name, sizes in kept["contenders"].items()
    }
    return Series(kept["day"], kept["machine"], cells)
