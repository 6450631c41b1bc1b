"""A question that only Rondel is asked, and the clocks that such questions share."""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping

Figures = dict[str, float]


def best_cpu(calls: Mapping[str, Callable[[], object]], passes: int) -> Figures:
    """The best CPU seconds of each call, the calls taking turns."""
    return _best(calls, passes, time.process_time)


def best_of_processes(calls: Mapping[str, Callable[[], object]], passes: int) -> Figures:
    """The best CPU seconds of the processes that each call starts and waits for."""
    return _best(calls, passes, _time_of_children)


def _time_of_children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _best(
    calls: Mapping[str, Callable[[], object]], passes: int, clock: Callable[[], float]
) -> Figures:
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(passes):
        for name, call in calls.items():
            gc.collect()
            began = clock()
            call()
            best[name] = min(best[name], clock() - began)
    return best


def answer(figures: Callable[[int], Figures], size: int) -> None:
    """Answer the command line: SIZE, or the usual one, gives one line of JSON."""
    print(json.dumps(figures(int(sys.argv[1]) if len(sys.argv) > 1 else size)))
