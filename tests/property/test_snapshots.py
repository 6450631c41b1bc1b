"""A snapshot after n ticks and the ticks from n on give the state that all ticks give."""

from __future__ import annotations

import asyncio

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondel.engine.core.fold import apply, todo
from rondel.engine.core.snapshot import dump, load
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from tests.property.harness import journal_of
from tests.reference.generator import Case, graphs


def _state(state: SessionState) -> object:
    return msgspec.json.decode(dump(state))


def _todo(state: SessionState) -> list[object]:
    commands = todo(state)
    return [(type(c).__name__, c.number if isinstance(c, Step) else None) for c in commands]


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=graphs(scores=True), jitter=st.integers(0, 2**16), data=st.data())
def test_a_core_restored_anywhere_goes_on_the_same(
    case: Case, jitter: int, data: st.DataObject
) -> None:
    graph, ticks = asyncio.run(journal_of(case.document, case.task, case.answers, jitter))
    plan = graph.plan()
    cuts = data.draw(st.sets(st.integers(0, len(ticks)), max_size=6))
    whole = SessionState(plan)
    restored: list[SessionState] = []
    for position, tick in enumerate([*ticks, None]):
        if position in cuts:
            copy = SessionState(plan)
            load(copy, dump(whole))
            assert _state(copy) == _state(whole)
            assert _todo(copy) == _todo(whole)
            restored.append(copy)
        if tick is not None:
            apply(whole, tick)
            for state in restored:
                apply(state, tick)
                assert _state(state) == _state(whole)
