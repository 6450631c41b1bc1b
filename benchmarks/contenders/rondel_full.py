"""Rondel with durability full: nothing goes on before its past is on the disk."""

from __future__ import annotations

from benchmarks.contenders.rondel import durable
from benchmarks.measurement import Prepare, speak

WORKLOADS: dict[str, Prepare] = {"W3": durable("full")}

if __name__ == "__main__":
    speak(WORKLOADS, "rondel")
