"""`make bench`: Rondel against the bare loop, in CPU time, best of several interleaved passes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from benchmarks.workloads import Workload, quick

PASSES = 3


def main() -> None:
    """Print one table; trust the ratios, not the microseconds."""
    print(f"{'workload':28}{'floor':>12}{'Rondel':>12}{'Rondel - floor':>18}")
    for workload in quick():
        floor, rondel = measure(workload)
        print(
            f"{workload.name:28}{_micro(floor, workload)}{_micro(rondel, workload)}"
            f"{_micro(rondel - floor, workload):>18}"
        )
    print("per step, CPU time, best of", PASSES)


def measure(workload: Workload) -> tuple[float, float]:
    """The best CPU seconds of the floor and of Rondel."""
    floors, rondels = [], []
    for _ in range(PASSES):
        floors.append(_cpu(workload.floor))
        rondels.append(_cpu(lambda: asyncio.run(_await(workload))))
    return min(floors), min(rondels)


async def _await(workload: Workload) -> None:
    await workload.rondel()


def _cpu(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _micro(seconds: float, workload: Workload) -> str:
    return f"{seconds / workload.steps * 1e6:>9.2f} µs"


if __name__ == "__main__":
    main()
