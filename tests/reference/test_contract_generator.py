"""The generated contracts are valid, and they exercise every rule."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings

from tests.reference.contract_generator import (
    contracted_graphs,
    contracts_of,
    interpret_case,
    seeded_case,
)
from tests.reference.document import read_graph
from tests.reference.forest import possible_loops
from tests.reference.generator import Case, way_out_is_clear
from tests.reference.run import Run
from tests.reference.test_generator import bodies, distribution

CASES = 1000
PER_THOUSAND = {
    "completed": 250,
    "bounded": 150,
    "waiting": 8,
    "cancelled": 4,
    "failed by a limit": 10,
    "exit_edge": 150,
    "score_threshold_reached": 60,
    "condition_met": 50,
    "max_rounds_reached": 300,
    "stagnated": 25,
    "regressed": 15,
    "no_retrigger": 80,
    "a best round that is not the last": 150,
    "earlier round handed on": 100,
    "regression warn": 15,
    "regression exit": 15,
    "regression rollback": 40,
    "rolled back": 25,
    "stagnation exit": 25,
    "stagnation nudge": 40,
    "nudged": 20,
    "carry trimmed": 50,
    "answered best": 60,
    "answered continue": 12,
    "answered continue 1": 12,
    "answered continue 2": 12,
    "answered stop": 4,
    "asked again": 12,
    "a goal that an exit edge reached": 4,
}
"""In how many of a thousand cases each of these must happen at least."""


def test_every_rule_acts_in_a_fair_share_of_the_cases() -> None:
    """Run with `-s` for the distribution."""
    runs = [interpret_case(seeded_case(seed)) for seed in range(CASES)]
    found = Counter(mark for run in runs for mark in marks(run))
    print(distribution(runs), found, sep="\n")
    rare = {mark: found[mark] for mark, least in PER_THOUSAND.items() if found[mark] < least}
    assert not rare


def test_few_runs_are_cut_off_by_the_limit_of_steps() -> None:
    runs = [interpret_case(seeded_case(seed)) for seed in range(300)]
    cut_off = [run for run in runs if run.reason in ("max_steps_reached", "two_entries")]
    assert len(cut_off) <= 0.08 * len(runs)


@settings(
    max_examples=150,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(contracted_graphs())
def test_every_contract_names_a_head_and_knows_where_to_go(case: Case) -> None:
    for body in bodies(case.document["graph"]):
        graph = read_graph(body)
        loops = possible_loops(graph)
        for head, contract in graph.loops.items():
            has_goal = not contract.keys().isdisjoint({"exit_on_score", "until"})
            headed = [loop for loop in loops if loop.head == head]
            assert headed
            for loop in headed:
                assert way_out_is_clear(graph, loop, "limit")
                assert not has_goal or way_out_is_clear(graph, loop, "goal")


def test_at_most_one_loop_of_a_case_fails_the_session() -> None:
    for seed in range(200):
        contracts = [contract for _, contract in contracts_of(seeded_case(seed))]
        assert sum(contract.get("on_limit") == "fail" for contract in contracts) <= 1


def test_a_seed_gives_the_same_case_again() -> None:
    assert seeded_case(7) == seeded_case(7)
    assert seeded_case(7) != seeded_case(8)


def marks(run: Run) -> set[str]:
    """What happened in a run at least once."""
    found = {run.status, *(loop.reason for loop in run.loops)}
    found |= {mark for mark, times in run.happened.items() if times}
    found |= {f"{notice.kind} {notice.action}" for notice in run.notices}
    if run.reason in ("max_rounds_reached", "stagnated", "regressed"):
        found.add("failed by a limit")
    if any(loop.best_round and loop.best_round < loop.rounds for loop in run.loops):
        found.add("a best round that is not the last")
    left_by_edge = [loop for loop in run.loops if loop.reason == "exit_edge" and loop.has_goal]
    if any(not loop.bounded for loop in left_by_edge):
        found.add("a goal that an exit edge reached")
    return found
