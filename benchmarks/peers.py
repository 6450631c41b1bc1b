"""`make bench-peers`: everyone does everything, each in an environment of its own.

    python -m benchmarks.peers [--only W1,W4] [--peers burr,langgraph] [--passes 3] [--limit 120]

A workload that everyone took part in replaces what `results/` says of it. With `--peers` the
figures are shown and not kept, for they stand beside no others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence

from benchmarks import environment, report
from benchmarks.contender import OURS, PEERS, Contender
from benchmarks.process import Absent
from benchmarks.progress import note
from benchmarks.results import Results
from benchmarks.suite import Suite
from benchmarks.workload import BY_ID

PROBES = {
    "shared_commits": 20,
    "waiting": 10_000,
    "slow_consumer": 3_000,
    "start": 15,
    "compiling": 100_000,
    "check": 1_000,
    "yaml_loop": 3_000,
    "bridge": 20,
}


def main() -> None:
    """Install, measure, write."""
    asked = _arguments()
    chosen = [one for one in PEERS if not asked.peers or one.name in asked.peers]
    suite = Suite([*OURS, *chosen], asked.passes, asked.limit, install(chosen))
    is_whole = len(chosen) == len(PEERS)
    results = Results.read() if is_whole else Results()
    for name in asked.only or BY_ID:
        workload = BY_ID[name]
        results.series[name] = suite.measure(workload, workload.sizes + workload.long_sizes)
        if is_whole:
            _keep(results)
    if is_whole and not asked.only:
        results.ask(PROBES)
        _keep(results)
    sys.stdout.write(report.page(results))


def install(peers: Sequence[Contender]) -> dict[str, Absent]:
    """Make the environments; say which peers cannot take part."""
    out = {}
    for peer in peers:
        note(f"environment of {peer.title}")
        try:
            environment.make(peer)
        except (environment.InstallFailed, OSError) as error:
            out[peer.name] = Absent("failed", str(error))
            note(f"{peer.title} is not installed: {error}")
    return out


def _keep(results: Results) -> None:
    results.write()
    report.write(results)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--only", type=_one_of(BY_ID), default=[], help="workloads: W1,W4")
    names = [peer.name for peer in PEERS]
    parser.add_argument("--peers", type=_one_of(names), default=[], help=", ".join(names))
    parser.add_argument("--passes", type=int, default=3, help="the best of so many (3)")
    parser.add_argument("--limit", type=float, default=120, help="seconds a run may take (120)")
    return parser.parse_args()


def _one_of(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Names out of a list, separated by commas."""
    names = list(known)

    def parse(text: str) -> list[str]:
        for name in text.split(","):
            if name not in names:
                there = ", ".join(names)
                raise argparse.ArgumentTypeError(f"there is no {name!r}; there are {there}")
        return text.split(",")

    return parse


if __name__ == "__main__":
    main()
