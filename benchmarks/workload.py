"""The workloads: what everyone is asked to do, how often, and what counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LINE = "x" * 200
"""What one round adds to the history."""

WIDTH = 32
"""Branches of the fan-out."""

ROUNDS = 20
"""Rounds of each of many sessions."""

PAUSE = 0.001
"""Seconds that each node of many sessions waits."""

NODES = 3
"""Nodes in the loop."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Something to do in several sizes, of which the largest only for Rondel and the floor."""

    id: str
    title: str
    sizes: tuple[int, ...]
    long_sizes: tuple[int, ...]
    size_word: str
    clock: Literal["cpu", "wall"]
    unit: Literal["µs per step", "s", "events per second"]
    steps_each: int
    proof_each: int
    """What a run counts for each unit of its size; a contender that counts less did less."""
    warm_up: int = 10

    def steps(self, size: int) -> int:
        """Node executions in a run of that size."""
        return self.steps_each * size

    def proof(self, size: int) -> int:
        """What a run of that size has to hand back."""
        return self.proof_each * size


WORKLOADS = (
    Workload(
        "W1", "a loop of three trivial nodes, in memory",
        (100, 1_000, 10_000), (100_000,), "rounds", "cpu", "µs per step", NODES, 1,
    ),
    Workload(
        "W2", "the same, and each round adds 200 bytes to a history",
        (100, 1_000, 5_000), (10_000,), "rounds", "cpu", "µs per step", NODES, 1,
    ),
    Workload(
        "W3", "the same, made durable on the contender's own store",
        (100, 1_000), (5_000,), "rounds", "wall", "µs per step", NODES, 1,
    ),
    Workload(
        "W4", "fan out to 32 nodes and join",
        (200,), (), "times", "cpu", "µs per step", WIDTH + 2, WIDTH, 2,
    ),
    Workload(
        "W5", "concurrent sessions of 20 rounds, each node waits 1 ms",
        (1_000,), (), "sessions", "wall", "s", NODES * ROUNDS, ROUNDS, 5,
    ),
    Workload(
        "W6", "every start and finish told to a consumer",
        (1_000,), (10_000,), "rounds", "cpu", "events per second", NODES, 2 * NODES,
    ),
)  # fmt: skip

BY_ID = {workload.id: workload for workload in WORKLOADS}
