"""The floor of W3 with an fsync for each step: one commit each, synchronous FULL."""

from __future__ import annotations

from benchmarks.contenders.floor import durable
from benchmarks.measurement import Prepare, speak

WORKLOADS: dict[str, Prepare] = {"W3": durable("FULL")}

if __name__ == "__main__":
    speak(WORKLOADS)
