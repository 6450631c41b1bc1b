"""Whatever crashes, pauses and answers come in between, a session does what it would have done."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondel import Engine, Graph, Session
from rondel.journal.memory import MemoryStore
from tests.property.harness import KNOWN, Jitter, executions
from tests.property.test_against_reference import ENDED_MIDWAY
from tests.reference.generator import Case, graphs
from tests.reference.interpreter import interpret

ACTIONS = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from(["crash", "pause", "resume", "answer"])),
    max_size=8,
)


class Life:
    """One session through several engines, one after the other."""

    def __init__(self, case: Case, jitter: int) -> None:
        self._store = MemoryStore()
        self._graph = Graph.from_document(case.document, registry=KNOWN)
        self._answers = list(case.answers)
        self._jitter = jitter
        self._task = case.task
        self._engine = self._new_engine()

    def _new_engine(self) -> Engine:
        self._jitter += 1
        return Engine(self._store, registry=KNOWN, middleware=[Jitter(self._jitter)])

    async def live(self, actions: list[tuple[int, str]]) -> Session:
        """Start, suffer the actions, and then be helped to the end."""
        session = await self._engine.start(self._graph, self._task)
        for turns, action in actions:
            for _ in range(turns):
                await asyncio.sleep(0)
            session = await self._act(session, action)
        if session.status in ("paused", "running"):
            await session.resume()
        while (await session.settled()).status == "waiting" and self._answers:
            await session.answer(self._answers.pop(0))
        return session

    async def _act(self, session: Session, action: str) -> Session:
        status = session.status
        if action == "crash":
            await self._engine.close()
            self._engine = self._new_engine()
            session = self._engine.get(session.id)
            if status == "running":
                await session.resume()
        elif action == "pause" and status in ("running", "waiting"):
            await session.pause()
        elif action == "resume" and status in ("running", "paused"):
            await session.resume()
        elif action == "answer" and session.questions() and self._answers:
            await session.answer(self._answers.pop(0))
        return session


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=graphs(scores=True), jitter=st.integers(0, 2**16), actions=ACTIONS)
def test_interruptions_change_nothing(
    case: Case, jitter: int, actions: list[tuple[int, str]]
) -> None:
    expected = interpret(case.document, case.task, case.answers)

    async def main() -> tuple[Any, Any]:
        async with asyncio.timeout(60):
            session = await Life(case, jitter).live(actions)
            return session.snapshot(), session.steps()

    result, steps = asyncio.run(main())
    assert result.status == expected.status
    if expected.status == "waiting" or expected.reason in ENDED_MIDWAY:
        return
    assert result.reason == expected.reason
    got = executions(steps)
    for node, runs in expected.executions.items():
        assert got.pop(node, []) == [(run.inputs, run.outputs) for run in runs], node
    assert not got
