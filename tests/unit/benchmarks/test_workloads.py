"""The workloads do what they claim, by the floor and by Rondel alike, in tiny sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.contenders import floor, floor_full, rondel, rondel_full
from benchmarks.measurement import NotDone, Prepare, measure, once
from benchmarks.workload import BY_ID, WORKLOADS, Workload

BY_EVERYONE = [
    *((name, prepare) for name, prepare in floor.WORKLOADS.items()),
    *((name, prepare) for name, prepare in floor_full.WORKLOADS.items()),
    *((name, prepare) for name, prepare in rondel.WORKLOADS.items()),
    *((name, prepare) for name, prepare in rondel_full.WORKLOADS.items()),
]


@pytest.mark.parametrize(("name", "prepare"), BY_EVERYONE)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_run_counts_what_the_workload_asks_for(
    name: str, prepare: Prepare, size: int, tmp_path: Path
) -> None:
    with prepare(size, tmp_path) as run:
        assert run() == BY_ID[name].proof(size)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.id)
def test_the_floor_and_rondel_take_part_in_every_workload(workload: Workload) -> None:
    assert workload.id in floor.WORKLOADS
    assert workload.id in rondel.WORKLOADS


@pytest.mark.parametrize("prepare", [floor.durable("NORMAL"), rondel.durable("normal")])
def test_only_durable_runs_leave_something_on_the_disk(prepare: Prepare) -> None:
    assert once(BY_ID["W3"], prepare, 3).disk > 0
    assert once(BY_ID["W2"], rondel.history, 3).disk == 0


def test_a_run_that_does_less_than_asked_is_refused() -> None:
    with pytest.raises(NotDone, match="W6 of 2 counted 2, not 12"):
        once(BY_ID["W6"], floor.loop, 2)


def test_a_measurement_knows_its_steps() -> None:
    assert measure(BY_ID["W4"], floor.fan_out, 2).steps == 2 * 34
