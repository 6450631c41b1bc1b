"""How long `rondel check` takes on a graph of many nodes in loops of ten."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from benchmarks.probe import Figures, answer, best_of_processes

IN_A_LOOP = 10
PASSES = 3


def document(nodes: int) -> dict[str, Any]:
    """A chain of loops, each of nine nodes that pass on and one that decides."""
    count = nodes // IN_A_LOOP
    body: dict[str, Any] = {"id": "many", "nodes": [], "edges": []}
    for loop in range(count):
        names = [f"loop {loop} node {number}" for number in range(IN_A_LOOP)]
        *passing, judge = names
        body["nodes"] += [{"id": name, "type": "passthrough"} for name in passing]
        body["nodes"].append({"id": judge, "type": "loop", "config": {"max_rounds": 3}})
        pairs = itertools.pairwise(names)
        body["edges"] += [{"from": source, "to": target} for source, target in pairs]
        body["edges"].append({"from": judge, "to": names[0], "label": "continue"})
        onward = f"loop {loop + 1} node 0" if loop + 1 < count else "end"
        body["edges"].append({"from": judge, "to": onward, "label": "exit"})
    body["nodes"].append({"id": "end", "type": "passthrough"})
    body["start"] = "loop 0 node 0"
    return {"version": 1, "graph": body}


def figures(nodes: int) -> Figures:
    """CPU seconds for the command as a user runs it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "many.yaml"
        file.write_text(yaml.safe_dump(document(nodes), sort_keys=False))
        command = [str(Path(sys.executable).with_name("rondel")), "check", str(file)]

        def check() -> None:
            subprocess.run(command, check=True, capture_output=True)

        return best_of_processes({"seconds": check}, PASSES)


if __name__ == "__main__":
    answer(figures, 1_000)
