"""Contracts, budgets and the breaker survive crashes and snapshots wherever these come."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondel import Context, Engine, Graph, Outcome, Registry, Session, Usage, builtin_registry
from rondel.engine import ticks
from rondel.engine.core.fold import apply, todo
from rondel.engine.core.snapshot import dump, load
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.guards.circuit_breaker import CircuitBreaker, circuit_breaker
from rondel.journal.memory import MemoryStore
from rondel.journal.store import SessionRow
from tests.property.harness import KNOWN, Jitter, ScriptConfig, ScriptProcessor, executions
from tests.reference.contract_generator import contracted_graphs, contracts_of
from tests.reference.generator import Case

UNHURRIED = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
ACTIONS = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from(["crash", "pause", "resume", "answer"])),
    max_size=8,
)


class People:
    """Those who answer: people in the order in which they are asked, loops each for itself."""

    def __init__(self, answers: Sequence[str], decisions: Mapping[str, Sequence[str]]) -> None:
        self._answers = list(answers)
        self._decisions = {head: list(given) for head, given in decisions.items()}

    async def answer_one(self, session: Session) -> bool:
        """Answer the oldest question that there is an answer to."""
        for question in session.asking:
            given = self._given(question.node_id, of_a_loop=question.address.endswith("]"))
            if given:
                await session.answer(given.pop(0), node=question.node_id)
                return True
        return False

    def forget_given(self, graph: Graph, past: Sequence[Any]) -> None:
        """Drop the answers that were given before."""
        state = SessionState(graph.plan())
        for tick in past:
            if isinstance(tick, ticks.Answered):
                node, _ = state.asker(tick.step)
                self._given(node.id, of_a_loop=tick.step < 0).pop(0)
            apply(state, tick)

    async def help_on(self, session: Session) -> None:
        """Answer whatever there is an answer to."""
        while (await session.settled()).status == "waiting" and await self.answer_one(session):
            pass

    def _given(self, node: str, *, of_a_loop: bool) -> list[str]:
        return self._decisions.get(node, []) if of_a_loop else self._answers


def _told(session: Session) -> tuple[Any, ...]:
    """All that a user can see of what became of a session, but for the clock."""
    result = session.snapshot()
    data = {key: value for key, value in result.data.items() if key != "timestamp"}
    rounds = [
        (r.address, r.round, r.score, r.delta, r.exit_reason, r.best)
        for r in sorted(session.rounds(), key=lambda r: (r.address, r.round))
    ]
    ends = (result.status, result.reason, result.output, data, result.loops)
    return ends, rounds, executions(session.steps())


def _ends_midway(told: tuple[Any, ...]) -> bool:
    """Whether the run stopped midway, so that timing decides how far other branches came."""
    return told[0][0] in ("failed", "cancelled", "waiting")


async def _undisturbed(case: Case, jitter: int) -> Session:
    engine = Engine(MemoryStore(), registry=KNOWN, middleware=[Jitter(jitter)])
    graph = Graph.from_document(case.document, registry=KNOWN)
    session = await engine.start(graph, case.task)
    await People(case.answers, case.decisions).help_on(session)
    return session


# Crashes


@UNHURRIED
@given(case=contracted_graphs(), jitter=st.integers(0, 2**16), data=st.data())
def test_a_session_that_dies_after_any_tick_keeps_its_contracts(
    case: Case, jitter: int, data: st.DataObject
) -> None:
    async def main() -> None:
        async with asyncio.timeout(60):
            whole = await _undisturbed(case, jitter)
            expected = _told(whole)
            journal = whole.journal()
            length = data.draw(st.integers(1, len(journal)), "ticks before it dies")
            at = data.draw(st.none() | st.integers(0, length), "ticks before a snapshot")
            store, people = MemoryStore(), People(case.answers, case.decisions)
            people.forget_given(whole.graph, journal[:length])
            _lay_out(store, whole, length, at)
            engine = Engine(store, registry=KNOWN, middleware=[Jitter(jitter + 1)])
            session = engine.get(whole.id)
            if session.status == "running":
                await session.resume()
            await people.help_on(session)
            again = _told(session)
            assert again[0][:2] == expected[0][:2]
            if not _ends_midway(expected):
                assert again == expected

    asyncio.run(main())


def _lay_out(store: MemoryStore, session: Session, length: int, snapshot: int | None) -> None:
    """The session as a process left it that died after so many ticks."""
    row, plan = session.row, session.plan
    store.create(
        SessionRow(
            id=row.id,
            graph_id=row.graph_id,
            document=row.document,
            includes=row.includes,
            inputs=row.inputs,
        )
    )
    state, guard = SessionState(plan), circuit_breaker(plan)
    for position, tick in enumerate(session.journal()[:length]):
        if position == snapshot:
            store.save_snapshot(row.id, position, dump(state, guard and guard.dump()))
        store.append(row.id, tick)
        _fold(state, guard, tick)
    store.set_status(row.id, state.status, state.reason)


@UNHURRIED
@given(case=contracted_graphs(), jitter=st.integers(0, 2**16), actions=ACTIONS)
def test_crashes_pauses_and_answers_in_any_order_keep_the_contracts(
    case: Case, jitter: int, actions: list[tuple[int, str]]
) -> None:
    async def main() -> None:
        async with asyncio.timeout(60):
            expected = _told(await _undisturbed(case, jitter))
            again = _told(await _disturbed(case, jitter, actions))
            assert again[0][0] == expected[0][0]
            if not _ends_midway(expected):
                assert again == expected

    asyncio.run(main())


async def _disturbed(case: Case, jitter: int, actions: list[tuple[int, str]]) -> Session:
    store, people = MemoryStore(), People(case.answers, case.decisions)
    graph = Graph.from_document(case.document, registry=KNOWN)
    engine = Engine(store, registry=KNOWN, middleware=[Jitter(jitter)])
    session = await engine.start(graph, case.task)
    for number, (turns, action) in enumerate(actions):
        for _ in range(turns):
            await asyncio.sleep(0)
        status = session.status
        if action == "crash":
            await engine.close()
            engine = Engine(store, registry=KNOWN, middleware=[Jitter(jitter + number)])
            session = engine.get(session.id)
            if status == "running":
                await session.resume()
        elif action == "pause" and status in ("running", "waiting"):
            await session.pause()
        elif action == "resume" and status in ("running", "paused"):
            await session.resume()
        elif action == "answer" and session.questions():
            await people.answer_one(session)
    if session.status in ("paused", "running"):
        await session.resume()
    await people.help_on(session)
    return session


# Snapshots


class PayingScript(ScriptProcessor):
    """Recites, and pays for it: with leave, partly in durable parts."""

    async def process(self, ctx: Context) -> Outcome:
        price = 5 + 7 * (len(ctx.address) % 3)
        if ctx.round % 2:
            await ctx.substep("pay", lambda: self._pay(ctx, price))
        else:
            await self._pay(ctx, price)
        return await super().process(ctx)

    async def _pay(self, ctx: Context, price: int) -> int:
        await ctx.reserve(lambda: Usage("m", price))
        await asyncio.sleep(0)
        ctx.charge(Usage("m", price, 1, price / 100))
        return price


def _paying_registry() -> Registry:
    known = builtin_registry()
    known.node("script", ScriptConfig, lambda config, _registry: PayingScript(config))
    return known


PAYING = _paying_registry()
BUDGETS = st.none() | st.fixed_dictionaries(
    {"tokens": st.integers(5, 200)}, optional={"usd": st.sampled_from([0.2, 1.0])}
)
BREAKERS = st.sampled_from(
    [
        "off",
        {"min_entropy": 0.5},
        {"min_entropy": 0.9, "window": 2},
        {"estimated_tokens": 40},
        {"estimated_tokens": 20, "min_entropy": 0.3},
    ]
)


def _with_prices(case: Case, data: st.DataObject) -> dict[str, Any]:
    document: dict[str, Any] = copy.deepcopy(case.document)
    paid = Case(document, case.task, case.answers, case.decisions)
    for _, contract in contracts_of(paid):
        budget = data.draw(BUDGETS, "budget")
        if budget is not None:
            contract["budget"] = budget
    document["graph"]["breaker"] = data.draw(BREAKERS, "breaker")
    return document


async def _priced_journal(case: Case, document: dict[str, Any], jitter: int) -> tuple[Graph, Any]:
    graph = Graph.from_document(document, registry=PAYING)
    people = People(case.answers, case.decisions)
    async with Engine(db=None, registry=PAYING, middleware=[Jitter(jitter)]) as engine:
        session = await engine.start(graph, case.task)
        await people.help_on(session)
        for _ in range(4):
            if session.status == "suspended_locked":
                await session.unlock("go on")
                await people.help_on(session)
        return graph, list(session.journal())


def _fold(state: SessionState, guard: CircuitBreaker | None, tick: Any) -> list[Any]:
    if guard is None:
        apply(state, tick)
        return []
    if isinstance(tick, ticks.Finished):
        guard.weigh(state, tick)
    apply(state, tick)
    return list(guard.learn(state, tick))


def _state(state: SessionState, guard: CircuitBreaker | None) -> Any:
    return msgspec.json.decode(dump(state, guard and guard.dump()))


def _todo(state: SessionState) -> list[object]:
    commands = todo(state)
    return [(type(c).__name__, c.number if isinstance(c, Step) else None) for c in commands]


@UNHURRIED
@given(case=contracted_graphs(), jitter=st.integers(0, 2**16), data=st.data())
def test_a_snapshot_at_any_tick_restores_everything(
    case: Case, jitter: int, data: st.DataObject
) -> None:
    """Checkpoints, ages, parked steps, questions of loops, what was spent, what the guard knows."""
    document = _with_prices(case, data)
    graph, journal = asyncio.run(_priced_journal(case, document, jitter))
    plan = graph.plan()
    cuts = data.draw(st.sets(st.integers(0, len(journal)), max_size=6))
    whole, guard = SessionState(plan), circuit_breaker(plan)
    restored: list[tuple[SessionState, CircuitBreaker | None]] = []
    for position, tick in enumerate([*journal, None]):
        if position in cuts:
            twin, twin_guard = SessionState(plan), circuit_breaker(plan)
            known = load(twin, dump(whole, guard and guard.dump()))
            if twin_guard is not None:
                twin_guard.load(known)
            assert _state(twin, twin_guard) == _state(whole, guard)
            assert _todo(twin) == _todo(whole)
            restored.append((twin, twin_guard))
        if tick is not None:
            found = _fold(whole, guard, tick)
            for state, other in restored:
                assert _fold(state, other, tick) == found
                assert _state(state, other) == _state(whole, guard)


@UNHURRIED
@given(case=contracted_graphs(), jitter=st.integers(0, 2**16), data=st.data())
def test_folding_the_journal_again_finds_the_same_locks(
    case: Case, jitter: int, data: st.DataObject
) -> None:
    """Whatever the guard found while the session ran it finds again, so no lock is lost."""
    document = _with_prices(case, data)
    graph, journal = asyncio.run(_priced_journal(case, document, jitter))
    state, guard = SessionState(graph.plan()), circuit_breaker(graph.plan())
    due = False
    for tick in journal:
        if isinstance(tick, ticks.Locked):
            assert due
        locks = [type(item).__name__ for item in _fold(state, guard, tick)]
        if isinstance(tick, ticks.Locked | ticks.Unlocked):
            due = False
        due = due or "Lock" in locks
    assert not due or state.ended or state.lock is not None
