"""Tables, goals and the kept file say what was measured, and say when something was not."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from benchmarks import report
from benchmarks.contender import FLOOR, PEERS, RONDEL, Contender
from benchmarks.goals import Goals
from benchmarks.measurement import Measurement
from benchmarks.process import Absent
from benchmarks.results import Results, Series
from benchmarks.workload import BY_ID

BURR = next(peer for peer in PEERS if peer.name == "burr")


def took(micro: float, size: int = 100) -> Measurement:
    """A measurement of W1 with so many microseconds for each step."""
    steps = BY_ID["W1"].steps(size)
    return Measurement(micro * steps / 1e6, micro * steps / 1e6, steps, 0, 0, "9.9")


def measured(*cells: tuple[Contender, Measurement | Absent]) -> Results:
    series = Series("2026-01-02", "a machine")
    for contender, outcome in cells:
        series.add(contender, 100, outcome)
    return Results({"W1": series})


def test_the_floor_is_taken_off_and_the_best_pass_counts() -> None:
    results = measured((FLOOR, took(1)), (RONDEL, took(9)), (RONDEL, took(6)))
    figure = results.series["W1"].figure(RONDEL, 100, BY_ID["W1"])
    assert not isinstance(figure, Absent)
    assert round(figure, 6) == 5


def test_a_peer_that_failed_has_a_cell_that_says_so() -> None:
    results = measured((FLOOR, took(1)), (RONDEL, took(6)), (BURR, Absent("failed", "no disk")))
    assert "| Burr | failed |" in report.page(results)


def test_a_goal_is_a_ratio_to_the_fastest_peer() -> None:
    results = measured((FLOOR, took(1)), (RONDEL, took(6)), (BURR, took(51)))
    (goal,) = Goals(results, Results()).all()
    assert (goal.reached, goal.met) == ("0.10 ×", True)
    assert "Burr 50 µs" in goal.figures


def test_without_peers_their_last_figures_are_scaled_by_the_floor() -> None:
    sizes = BY_ID["W1"].sizes
    then, now = Series("", ""), Series("", "")
    for size in sizes:
        then.add(FLOOR, size, took(1, size))
        then.add(BURR, size, took(51, size))
        now.add(FLOOR, size, took(2, size))
        now.add(RONDEL, size, took(12, size))
    goals = list(Goals(Results({"W1": now}), Results({"W1": then})).all())
    assert goals[0].reached == "0.10 ×"
    assert "Burr 100 µs" in goals[0].figures


def test_without_any_peer_a_goal_is_neither_met_nor_missed() -> None:
    (goal,) = Goals(measured((FLOOR, took(1)), (RONDEL, took(6))), Results()).all()
    assert goal.met is None


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    results = measured((FLOOR, took(1)), (RONDEL, took(6)), (BURR, Absent("over 5 s")))
    results.probes["check"] = {"seconds": 0.25}
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results


def test_the_pictures_are_written_beside_the_page(tmp_path: Path) -> None:
    report.write(measured((FLOOR, took(1)), (RONDEL, took(6)), (BURR, took(51))), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["W1.svg", "results.md"]
    ElementTree.fromstring((tmp_path / "W1.svg").read_text())
