"""One measurement: a contender does one workload, in a process of its own, and says what it took.

Only the run is timed: imports, building the graph and opening the store are over before.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.workload import BY_ID, Workload

Run = Callable[[], int]
"""Does the work once and hands back the proof of it: what it has counted."""

Prepare = Callable[[int, Path], AbstractContextManager[Run]]
"""Makes everything ready for a run of a size, with an empty folder for what it stores."""

ENOUGH = 1.0
"""Seconds after which a short run is not repeated any more."""

MOST = 20
"""Times that a short run is repeated."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a run took: the best of its repetitions."""

    cpu: float
    wall: float
    steps: int
    memory: int
    """Bytes at the peak, above those before the run."""
    disk: int
    """Bytes left in the folder when everything is closed."""
    version: str = ""

    def per_step(self, clock: str) -> float:
        """Microseconds for each step, by the CPU or by the wall clock."""
        return (self.cpu if clock == "cpu" else self.wall) / self.steps * 1e6


class NotDone(Exception):
    """The contender counted something else than the workload asks for."""


@contextmanager
def in_loop(work: Callable[[], Coroutine[object, object, int]]) -> Iterator[Run]:
    """A run in an event loop that is open already."""
    with asyncio.Runner() as runner:
        yield lambda: runner.run(work())


def measure(workload: Workload, prepare: Prepare, size: int) -> Measurement:
    """The best of several runs, fewer the longer they take, after a small one to warm up."""
    once(workload, prepare, min(size, workload.warm_up))
    best = once(workload, prepare, size)
    spent, times = best.wall, 1
    while spent < ENOUGH and times < MOST:
        again = once(workload, prepare, size)
        spent, times = spent + again.wall, times + 1
        cpu, wall = min(best.cpu, again.cpu), min(best.wall, again.wall)
        best = Measurement(cpu, wall, best.steps, best.memory, again.disk)
    return best


def once(workload: Workload, prepare: Prepare, size: int) -> Measurement:
    """One run, timed and proved."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with prepare(size, folder) as run:
            gc.collect()
            before = resident()
            forget_peak()
            wall, cpu = time.perf_counter(), time.process_time()
            counted = run()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            memory = max(0, peak() - before)
        disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if counted != workload.proof(size):
        raise NotDone(
            f"{workload.id} of {size:,} counted {counted:,}, not {workload.proof(size):,}"
        )
    return Measurement(cpu, wall, workload.steps(size), memory, disk)


def resident() -> int:
    """Bytes of memory in use now."""
    return _status("VmRSS")


def peak() -> int:
    """Bytes of memory in use at most since `forget_peak`."""
    return _status("VmHWM")


def forget_peak() -> None:
    """Count the peak from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise LookupError(f"/proc/self/status has no {field}")


def speak(workloads: Mapping[str, Prepare], distribution: str = "") -> None:
    """Answer the command line: WORKLOAD SIZE gives one line of JSON, null for no counterpart."""
    name, size = sys.argv[1], int(sys.argv[2])
    if name not in workloads:
        print("null")
        return
    figures = asdict(measure(BY_ID[name], workloads[name], size))
    figures["version"] = version(distribution) if distribution else ""
    print(json.dumps(figures))
