"""`make bench`: Rondel against the floors, in under a minute, with every goal in one table.

The peers' figures are those of the last `make bench-peers`, scaled by what the floor took then and
takes now.
"""

from __future__ import annotations

from benchmarks.contender import OURS
from benchmarks.goals import Goals, Reached
from benchmarks.results import Results, machine_in_words
from benchmarks.suite import Suite
from benchmarks.workload import BY_ID

LIMIT = 60.0
"""Seconds that one measurement may take."""

COSTLY = 2.0
"""Seconds after which there is no second pass."""

SIZES = {
    "W1": ((100, 10_000, 100_000), 2),
    "W2": ((100, 10_000), 2),
    "W3": ((100,), 2),
    "W4": ((200,), 2),
    "W5": ((1_000,), 3),
    "W6": ((1_000,), 2),
}
"""For each workload the sizes and how many passes there are."""

PROBES = {
    "shared_commits": 10,
    "waiting": 1_000,
    "slow_consumer": 3_000,
    "start": 4,
    "compiling": 100_000,
    "check": 1_000,
    "yaml_loop": 1_000,
    "bridge": 5,
}


def main() -> None:
    """Measure, and print one table."""
    results = measured()
    print(table(list(Goals(results, Results.read()).all())))
    print(f"\n{machine_in_words()}. CPU time but for W3 and W5. Trust ratios.")


def measured() -> Results:
    """Everything, in small sizes."""
    results = Results()
    for name, (sizes, passes) in SIZES.items():
        results.series[name] = Suite(OURS, passes, LIMIT, costly=COSTLY).measure(BY_ID[name], sizes)
    results.ask(PROBES)
    return results


def table(rows: list[Reached]) -> str:
    """The goals as text, in columns."""
    marks = {True: "yes", False: "no", None: "–"}
    head = ("workload", "measured", "reached", "goal", "met")
    cells = [(row.what, row.figures, row.reached, row.goal, marks[row.met]) for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *cells)
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
