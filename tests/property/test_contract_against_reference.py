"""The engine and the reference interpreter agree on the contract of every loop, with any timing."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondel import Event
from rondel.sessions.records import StepRecord
from tests.property.harness import executions, play, recollections
from tests.reference.contract_generator import (
    contracted_graphs,
    in_plain_words,
    seeded_case,
    with_budgets,
)
from tests.reference.generator import Case
from tests.reference.interpreter import Nudge, interpret
from tests.reference.run import Run

CASES_PER_BATCH = 100
BATCHES = 12
TOLD_APART = [2277, 4942]
"""Seeds that once showed a difference: `continue N` long before the last round allowed."""
SET_BY_THE_CLOCK = "timestamp"


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=contracted_graphs(), jitter=st.none() | st.integers(0, 2**16))
def test_a_contract_is_kept_as_the_reference_keeps_it(case: Case, jitter: int | None) -> None:
    assert_agreement(case, jitter)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_more_contracts_are_kept_as_the_reference_keeps_them(batch: int) -> None:
    for seed in range(batch * CASES_PER_BATCH, (batch + 1) * CASES_PER_BATCH):
        assert_seed_agrees(seed)


@pytest.mark.parametrize("batch", range(3))
def test_scores_in_plain_words_count_as_the_reference_counts_them(batch: int) -> None:
    for seed in range(batch * CASES_PER_BATCH, (batch + 1) * CASES_PER_BATCH):
        assert_agreement(in_plain_words(seeded_case(seed)), jitter=None)


@pytest.mark.parametrize("batch", range(4))
def test_budgets_end_loops_as_the_reference_ends_them(batch: int) -> None:
    ended = 0
    for seed in range(batch * CASES_PER_BATCH, (batch + 1) * CASES_PER_BATCH):
        case = with_budgets(seeded_case(seed), random.Random(seed))
        try:
            expected = assert_agreement(case, jitter=random.Random(seed).choice([None, seed]))
        except Exception as error:
            error.add_note(f"This is with_budgets(seeded_case({seed}), Random({seed})).")
            raise
        ended += any(loop.reason == "budget_exhausted" for loop in expected.loops)
    assert ended > CASES_PER_BATCH / 10


@pytest.mark.parametrize("seed", TOLD_APART)
def test_what_once_told_engine_and_reference_apart_does_so_no_more(seed: int) -> None:
    assert_seed_agrees(seed)


def assert_seed_agrees(seed: int) -> None:
    try:
        assert_agreement(seeded_case(seed), jitter=random.Random(seed).choice([None, seed]))
    except Exception as error:
        error.add_note(f"This is seeded_case({seed}).")
        raise


def assert_agreement(case: Case, jitter: int | None) -> Run:
    result, steps, events = asyncio.run(
        play(case.document, case.task, case.answers, jitter, case.decisions)
    )
    expected = interpret(case.document, case.task, case.answers, case.decisions, _nudges(steps))
    assert (result.status, result.reason) == _ending(expected, result.reason)
    if not _ran_to_its_end(expected):
        return expected
    if expected.output:
        assert result.output == expected.output
    assert _timeless(result.data) == _timeless(expected.data)
    _assert_same_executions(steps, expected)
    assert _loops(events) == _expected_loops(expected)
    _assert_same_rounds(events, expected)
    assert _notices(events) == _expected_notices(expected)
    return expected


def _ending(expected: Run, reason: str) -> tuple[str, str]:
    """Status and reason; the words for a session that waits or was stopped are the engine's."""
    is_open = expected.status in ("waiting", "cancelled")
    return expected.status, reason if is_open else expected.reason


def _ran_to_its_end(expected: Run) -> bool:
    return expected.status in ("completed", "bounded") or expected.reason == "no_output"


def _nudges(steps: list[StepRecord]) -> dict[str, list[Nudge | None]]:
    """What the engine says in its nudges, so that only their places are compared."""
    found: dict[str, list[Nudge | None]] = defaultdict(list)
    for step in steps:
        last = step.inputs[-1] if step.inputs else None
        is_nudge = last is not None and (last["source"], last["role"]) == ("LOOP", "user")
        nudge = (last["content"], last["data"]) if last is not None and is_nudge else None
        found[step.node_id].append(nudge)
    return found


def _timeless(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != SET_BY_THE_CLOCK}


def _assert_same_executions(steps: list[StepRecord], expected: Run) -> None:
    got, shown = executions(steps), recollections(steps)
    got_data: dict[str, list[tuple[list[Any], list[Any]]]] = defaultdict(list)
    for step in steps:
        data_in = [_timeless(message["data"]) for message in step.inputs]
        data_out = [_timeless(message["data"]) for message in step.outputs]
        got_data[step.node_id].append((data_in, data_out))
    for node, runs in expected.executions.items():
        assert got.pop(node, []) == [(run.inputs, run.outputs) for run in runs], node
        assert shown.get(node, []) == [run.recalled for run in runs], node
        assert got_data[node] == [(run.input_data, run.output_data) for run in runs], node
    assert not got


def _loops(events: list[Event]) -> list[tuple[Any, ...]]:
    names = ("loop", "rounds", "exit_reason", "value", "threshold", "best_round", "bounded")
    ended = [event.data for event in events if event.event == "loop:exited"]
    return sorted((tuple(data[name] for name in names) for data in ended), key=repr)


def _expected_loops(run: Run) -> list[tuple[Any, ...]]:
    ends = [
        (
            *(loop.head, loop.rounds, loop.reason),
            *(_figure(loop.value), _figure(loop.threshold)),
            *(loop.best_round, loop.bounded),
        )
        for loop in run.loops
    ]
    return sorted(ends, key=repr)


def _figure(value: float | None) -> float | None:
    return None if value is None else float(value)


def _assert_same_rounds(events: list[Event], expected: Run) -> None:
    """Per loop the rounds in order, with their values; gains where two rounds in a row have one."""
    got: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event.event == "loop:round_completed":
            got[event.data["loop"]].append(event.data)
    for name in {round.loop for round in expected.rounds} | got.keys():
        wanted = [round for round in expected.rounds if round.loop == name]
        assert [(r["round"], r["score"]) for r in got[name]] == [
            (round.round, round.value) for round in wanted
        ], name
        for data, round in zip(got[name], wanted, strict=True):
            assert round.gain is None or data["delta"] == round.gain, name


def _notices(events: list[Event]) -> list[tuple[Any, ...]]:
    found = [e for e in events if e.event in ("loop:regression", "loop:stagnation")]
    names = ("loop", "round", "delta", "action")
    return sorted((e.event.removeprefix("loop:"), *(e.data[name] for name in names)) for e in found)


def _expected_notices(run: Run) -> list[tuple[Any, ...]]:
    return sorted((n.kind, n.loop, n.round, n.delta, n.action) for n in run.notices)
