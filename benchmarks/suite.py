"""Runs measurements: one process each, the contenders taking turns, the best of several passes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.contender import Contender
from benchmarks.process import NO_COUNTERPART, Absent, Outcome, run
from benchmarks.progress import note, tell
from benchmarks.results import Series
from benchmarks.workload import Workload


@dataclass(slots=True)
class Suite:
    """Who takes part, how often, and how long anyone may take."""

    contenders: Sequence[Contender]
    passes: int
    limit: float
    out: dict[str, Absent] = field(default_factory=dict)
    """Contenders that cannot run at all, with the reason."""
    costly: float = 15.0
    """Seconds after which a contender gets no further pass at a size."""

    def measure(self, workload: Workload, sizes: Sequence[int]) -> Series:
        """One workload in several sizes; the long ones are not for peers."""
        series = Series.begun_now()
        for size in sizes:
            note(f"{workload.id} {size:,} {workload.size_word}")
            taking_part = [one for one in self.contenders if _takes_part(one, workload, size)]
            self._measure_size(series, workload, size, taking_part)
        return series

    def _measure_size(
        self, series: Series, workload: Workload, size: int, contenders: Sequence[Contender]
    ) -> None:
        spent = dict.fromkeys((one.name for one in contenders), 0.0)
        for number in range(self.passes):
            for contender in contenders:
                if spent[contender.name] > self.costly or _is_out(series, contender, size):
                    continue
                what = f"{workload.id} {size:,} {workload.size_word}, {contender.title}"
                tell(f"{what}, pass {number + 1} of {self.passes}")
                began = time.perf_counter()
                outcome = self._outcome(series, contender, workload, size)
                spent[contender.name] += time.perf_counter() - began
                series.add(contender, size, outcome)
                expected = (NO_COUNTERPART, *self.out.values())
                if isinstance(outcome, Absent) and outcome not in expected:
                    note(f"{what}: {outcome.word} {outcome.reason}".rstrip())

    def _outcome(
        self, series: Series, contender: Contender, workload: Workload, size: int
    ) -> Outcome:
        if contender.name in self.out:
            return self.out[contender.name]
        smaller = [
            outcome
            for less, outcomes in series.cells.get(contender.name, {}).items()
            for outcome in outcomes
            if less < size
        ]
        too_slow = [one for one in smaller if isinstance(one, Absent) and one.word != "failed"]
        return too_slow[0] if too_slow else run(contender, workload, size, self.limit)


def _is_out(series: Series, contender: Contender, size: int) -> bool:
    return any(isinstance(outcome, Absent) for outcome in series.passes(contender, size))


def _takes_part(contender: Contender, workload: Workload, size: int) -> bool:
    too_long = contender.is_peer and size in workload.long_sizes
    return contender.does(workload.id) and not too_long
