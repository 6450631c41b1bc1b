"""The engine and the reference interpreter agree on every graph, with any timing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondel import Event
from tests.property.harness import executions, play, recollections
from tests.reference.generator import Case, graphs
from tests.reference.interpreter import interpret
from tests.reference.run import Run
from tests.reference.wild_generator import in_compat, wild_case

CASES_PER_BATCH = 150
ENDED_MIDWAY = ("two_entries", "max_steps_reached")


def _loops(events: list[Event]) -> list[tuple[Any, ...]]:
    return sorted(
        (e.data["loop"], e.data["rounds"], e.data["exit_reason"], e.data["bounded"])
        for e in events
        if e.event == "loop:exited"
    )


def _expected_loops(run: Run) -> list[tuple[Any, ...]]:
    return sorted((loop.head, loop.rounds, loop.reason, loop.bounded) for loop in run.loops)


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=graphs(scores=True), jitter=st.none() | st.integers(0, 2**16))
def test_the_engine_does_what_the_reference_does(case: Case, jitter: int | None) -> None:
    assert_agreement(case, jitter)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=graphs(scores=True), jitter=st.none() | st.integers(0, 2**16))
def test_it_does_so_by_the_rules_of_chatdev(case: Case, jitter: int | None) -> None:
    assert_agreement(in_compat(case), jitter)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("batch", range(5))
def test_graphs_without_any_plan_run_as_the_reference_runs_them(batch: int, compat: bool) -> None:
    for seed in range(batch * CASES_PER_BATCH, (batch + 1) * CASES_PER_BATCH):
        try:
            assert_agreement(wild_case(seed, compat=compat), jitter=None)
        except Exception as error:
            error.add_note(f"This is wild_case({seed}, compat={compat}).")
            raise


def assert_agreement(case: Case, jitter: int | None) -> None:
    expected = interpret(case.document, case.task, case.answers)
    result, steps, events = asyncio.run(play(case.document, case.task, case.answers, jitter))
    assert result.status == expected.status
    if expected.status == "waiting":
        return
    assert result.reason == expected.reason
    if expected.reason in ENDED_MIDWAY:
        return
    if expected.output:
        assert result.output == expected.output
    got, shown = executions(steps), recollections(steps)
    for node, runs in expected.executions.items():
        assert got.pop(node, []) == [(run.inputs, run.outputs) for run in runs], node
        assert shown.get(node, []) == [run.recalled for run in runs], node
    assert not got
    assert _loops(events) == _expected_loops(expected)
