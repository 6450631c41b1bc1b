"""The generated graphs are valid, and they exercise what they are for."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from tests.reference.document import Graph, read_graph
from tests.reference.forest import exit_edges, possible_loops
from tests.reference.generator import Case, graphs, thrown_case
from tests.reference.interpreter import interpret
from tests.reference.run import Run

ONLY_GENERATE = settings(
    max_examples=300,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_most_generated_runs_loop_several_rounds_and_come_to_an_end() -> None:
    """Run with `-s` for the distribution."""
    cases = [thrown_case(random.Random(seed).randint) for seed in range(300)]
    runs = [interpret(case.document, case.task, case.answers) for case in cases]
    print(distribution(runs))
    looping = [run for run in runs if any(loop.rounds > 1 for loop in run.loops)]
    ended = [run for run in runs if run.status in ("completed", "bounded")]
    assert len(looping) >= 0.6 * len(runs)
    assert len(ended) >= 0.6 * len(runs)


@ONLY_GENERATE
@given(graphs(scores=True))
def test_every_contract_names_a_head_and_has_a_clear_way_out(case: Case) -> None:
    for body in bodies(case.document["graph"]):
        graph = read_graph(body)
        for head in graph.loops:
            assert_way_out_is_clear(graph, head)


def bodies(body: dict[str, Any]) -> list[dict[str, Any]]:
    configs = [node["config"] for node in body["nodes"] if node["type"] == "subgraph"]
    inner = [config.get("graph") or config["config"] for config in configs]
    return [body, *(each for one in inner for each in bodies(one))]


def assert_way_out_is_clear(graph: Graph, head: str) -> None:
    headed = [loop for loop in possible_loops(graph) if loop.head == head]
    assert headed
    for loop in headed:
        exits = exit_edges(graph, loop.nodes)
        assert len(exits) < 2 or any(edge.label == "limit" for edge in exits)


def distribution(runs: list[Run]) -> str:
    loops = [loop for run in runs for loop in run.loops]
    steps = sorted(sum(map(len, run.executions.values())) for run in runs)
    figures = {
        "statuses": Counter(f"{run.status} {run.reason}".strip() for run in runs),
        "loop entries per run": Counter(min(len(run.loops), 10) for run in runs),
        "rounds per entry": Counter(min(loop.rounds, 10) for loop in loops),
        "loop ends": Counter(loop.reason for loop in loops),
        "median and most steps": (steps[len(steps) // 2], steps[-1]),
    }
    return "\n".join(f"{name}: {figure}" for name, figure in figures.items())
