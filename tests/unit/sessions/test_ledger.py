"""The ledger: one row a model call, and every total is the sum of rows."""

from __future__ import annotations

import asyncio
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Context, Emit, Engine, Graph, Message, Question, Session, Suspend, Usage
from rondel.sessions.records import CallRecord, UsageTotal
from tests.unit.engine.refining import with_breaker
from tests.unit.sessions.playing import limited


def total(rows: list[CallRecord]) -> UsageTotal:
    """The sum of rows, added one by one; `sum` adds otherwise since Python 3.12."""
    return UsageTotal(
        sum(row.input_tokens for row in rows),
        sum(row.output_tokens for row in rows),
        reduce(add, [row.usd for row in rows], 0.0),
        len(rows),
    )


def check(session: Session) -> list[CallRecord]:
    """The ledger, which all that is told of usage must agree with."""
    rows = session.ledger()
    assert session.snapshot().usage == total(rows)
    assert {row.session_id for row in rows} <= {session.id}
    if session.row.parent is None:
        steps = [step.usage for step in session.steps()]
        assert sum(usage.tokens for usage in steps) == total(rows).tokens
        assert sum(usage.model_calls for usage in steps) == len(rows)
    return rows


def spends(number: int) -> Usage:
    return Usage(f"model {number}", number, 2 * number, 0.1 * number, 0.5)


def relay(work: Any, rounds: int = 3) -> Graph:
    """A loop of two nodes that do this work."""
    graph = Graph("relay")
    graph.node(id="a", on_error="continue")(work)
    graph.node(id="b")(lambda inp: inp.address)
    graph.node(id="done")(lambda _inp: "done")
    graph.edge("a", "b")
    graph.edge("b", "a")
    graph.edge("b", "done", when=False)
    graph.loop("a", max_rounds=rounds)
    return with_breaker(graph, "off")


async def ran(engine: Engine, graph: Graph) -> Session:
    session = await engine.start(graph)
    await session.settled()
    return session


async def test_a_row_says_who_called_what_and_what_it_took() -> None:
    async with Engine(db=None) as engine:
        session = await ran(engine, relay(lambda inp: (inp.charge(spends(3)), "x")[1], 1))
        (row,) = check(session)
        assert (row.session_id, row.address, row.node_id) == (session.id, "a[1]/a", "a")
        assert (row.model, row.input_tokens, row.output_tokens) == ("model 3", 3, 6)
        assert (row.usd, row.duration) == (pytest.approx(0.3), 0.5)


async def test_an_agent_makes_a_row_a_call() -> None:
    answers = [{"content": "x", "usage": {"input_tokens": 7, "output_tokens": 5}}]
    graph = Graph("agent")
    graph.add("a", "agent", {"provider": "scripted", "name": "gpt-4o", "answers": answers})

    async with Engine(db=None) as engine:
        (row,) = check(await ran(engine, graph))
        assert (row.model, row.input_tokens, row.output_tokens) == ("gpt-4o", 7, 5)
        assert row.usd > 0


Plans = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["plain", "part"])), max_size=4),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(plan=Plans, fails=st.sets(st.integers(1, 4)))
def test_totals_are_sums_of_rows_whatever_is_called(
    plan: list[list[tuple[int, str]]], fails: set[int]
) -> None:
    """Calls in parts and outside, in steps that finish and in steps that fail."""

    async def work(inp: Context) -> str:
        for place, (price, kind) in enumerate(plan[: inp.round][-1]):

            async def call(price: int = price) -> int:
                inp.charge(spends(price))
                return price

            await (inp.substep(f"part {place}", call) if kind == "part" else call())
        if inp.round in fails:
            raise ValueError("after all")
        return f"{inp.round}"

    async def main() -> None:
        async with Engine(db=None) as engine:
            session = await ran(engine, relay(work, rounds=len(plan)))
            rows = check(session)
            rounds = session.snapshot().loops[0].rounds
            expected = [price for calls in plan[:rounds] for price, _ in calls]
            assert sorted(row.input_tokens for row in rows) == sorted(expected)
            assert sum(r.tokens for r in session.rounds()) == total(rows).tokens

    limited(main())


async def test_failed_attempts_are_in_the_ledger() -> None:
    async def work(inp: Context) -> str:
        inp.charge(spends(inp.attempt))
        if inp.attempt < 3:
            raise ValueError("not yet")
        return "x"

    graph = relay(work, rounds=1)
    retry = {"max_attempts": 3, "min_wait": "1ms", "max_wait": "1ms"}
    graph.document["graph"]["nodes"][0]["retry"] = retry

    async with Engine(db=None) as engine:
        rows = check(await ran(engine, graph))
        assert [row.input_tokens for row in rows] == [1, 2, 3]


async def test_a_step_that_failed_for_good_and_one_that_ran_out_of_time_are_in_the_ledger() -> None:
    async def work(inp: Context) -> str:
        inp.charge(spends(inp.round))
        if inp.round == 1:
            await asyncio.sleep(600)
        raise ValueError("no")

    graph = relay(work)
    graph.document["graph"]["nodes"][0] |= {"timeout": "20ms", "on_error": "fail"}

    async with Engine(db=None) as engine:
        session = await ran(engine, graph)
        assert session.status == "failed"
        assert [row.input_tokens for row in check(session)] == [1]


async def test_a_refused_step_is_in_the_ledger_with_what_it_had_spent() -> None:
    async def work(inp: Context) -> str:
        for _ in range(3):
            await inp.reserve(lambda: Usage("m", 10))
            inp.charge(Usage("m", 10))
        return "x"

    graph = relay(work)
    graph.loop("a", budget={"tokens": 20})

    async with Engine(db=None) as engine:
        session = await ran(engine, graph)
        assert [row.address for row in check(session)] == ["a[1]/a"] * 2


async def test_a_step_that_asked_somebody_is_in_the_ledger_before_and_after() -> None:
    class Asks:
        async def process(self, ctx: Context) -> Any:
            ctx.charge(spends(1 if ctx.answer is None else 2))
            if ctx.answer is None:
                return Suspend(Question("?"))
            return Emit([Message("answered")])

    graph = Graph("asks")
    graph.add("a", Asks())

    async with Engine(db=None) as engine:
        session = await ran(engine, graph)
        assert [row.input_tokens for row in check(session)] == [1]
        await session.answer("yes")
        await session.result()
        assert [row.input_tokens for row in check(session)] == [1, 2]


@pytest.mark.parametrize("beside", [False, True])
async def test_a_step_that_the_breaker_cut_off_is_in_the_ledger(beside: bool) -> None:
    runs: list[str] = []

    async def work(inp: Context) -> str:
        inp.charge(spends(1))
        runs.append(inp.address)
        if len(runs) == 1:
            await asyncio.Event().wait()
        return "x"

    graph = Graph("hangs", end=["a"])
    graph.node(id="a")(work)
    if beside:
        graph.node(id="b")(lambda _inp: "b")
    with_breaker(graph, {"timeout": "100ms"})

    async with Engine(db=None) as engine:
        session = await ran(engine, graph)
        assert session.status == "suspended_locked"
        assert [row.input_tokens for row in check(session)] == [1]
        await session.unlock("fine")
        await session.result()
        assert [row.input_tokens for row in check(session)] == [1, 1]


async def test_a_step_that_was_stopped_is_in_the_ledger() -> None:
    charged = asyncio.Event()

    async def work(inp: Context) -> str:
        inp.charge(spends(1))
        charged.set()
        await asyncio.Event().wait()
        return "never"

    async with Engine(db=None) as engine:
        session = await engine.start(relay(work))
        await charged.wait()
        await session.stop()
        assert (await session.result()).status == "cancelled"
        assert [row.input_tokens for row in check(session)] == [1]


async def test_calls_in_subgraphs_are_the_sessions_own() -> None:
    answers = [{"content": "x", "usage": {"output_tokens": 5}}]
    agent = {"id": "x", "type": "agent", "config": {"provider": "scripted", "answers": answers}}
    inner = {"id": "inner", "nodes": [agent]}
    middle = {"id": "m", "nodes": [{"id": "T", "type": "subgraph", "config": {"graph": inner}}]}
    graph = Graph("subgraphs")
    graph.add("S", "subgraph", {"graph": middle})
    graph.add("y", "agent", agent["config"])
    graph.edge("S", "y")

    async with Engine(db=None) as engine:
        session = await ran(engine, graph)
        rows = check(session)
        assert [(row.node_id, row.address) for row in rows] == [
            ("S/T/x", "S/T/x"),
            ("y", "y"),
        ]


# Forks and restarts


def paying(rounds: int = 4) -> Graph:
    return relay(lambda inp: (inp.charge(spends(inp.round)), f"{inp.round}")[1], rounds)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
async def test_a_fork_pays_for_itself_and_its_parent_stays_as_it_was(at: int) -> None:
    async with Engine(db=None) as engine:
        parent = await ran(engine, paying())
        before = check(parent)
        assert [row.input_tokens for row in before] == [1, 2, 3, 4]
        fork = await parent.fork(f"a[{at}]/a")
        await fork.result()
        assert [row.input_tokens for row in check(fork)] == [1, 2, 3, 4][at - 1 :]
        assert check(parent) == before


async def test_a_fork_of_a_fork_pays_for_itself(tmp_path: Path) -> None:
    graph = paying()
    async with Engine(tmp_path / "db") as engine:
        parent = await ran(engine, graph)
        child = await parent.fork("a[2]/a")
        await child.result()
        grandchild = await child.fork("a[4]/a")
        await grandchild.result()
    async with Engine(tmp_path / "db") as engine:
        calls = {}
        for session in (parent, child, grandchild):
            again = engine.get(session.id)
            again.use(graph)
            calls[session.id] = len(check(again))
        assert [calls[s.id] for s in (parent, child, grandchild)] == [4, 3, 1]


@settings(max_examples=25, deadline=None)
@given(at=st.integers(1, 9), again=st.integers(1, 9))
def test_the_money_of_a_fork_is_the_sum_of_its_rows_to_the_last_bit(at: int, again: int) -> None:
    async def main() -> None:
        async with Engine(db=None) as engine:
            parent = await ran(engine, paying(9))
            check(parent)
            fork = await parent.fork(f"a[{at}]/a")
            await fork.result()
            check(fork)
            second = await fork.fork(f"a[{again}]/a")
            await second.result()
            check(second)

    limited(main())


async def test_a_call_whose_answer_was_lost_in_a_crash_is_made_and_counted_again(
    tmp_path: Path,
) -> None:
    """What is in no tick when the process dies was never told, so it cannot be counted."""
    hangs = asyncio.Event()
    runs: list[str] = []

    async def work(inp: Context) -> str:
        runs.append(inp.address)
        await inp.substep("first", lambda: call(inp, 1))
        if len(runs) == 2:
            hangs.set()
            await asyncio.Event().wait()
        await inp.substep("second", lambda: call(inp, 2))
        return "x"

    async def call(inp: Context, number: int) -> int:
        inp.charge(spends(number))
        return number

    graph = relay(work, rounds=2)

    async with Engine(tmp_path / "db") as engine:
        session = await engine.start(graph)
        await hangs.wait()
    async with Engine(tmp_path / "db") as engine:
        again = await engine.resume(session.id, graph)
        await again.result()
        assert [row.input_tokens for row in check(again)] == [1, 2, 1, 2]
        assert runs == ["a[1]/a", "a[2]/a", "a[2]/a"]


async def test_reading_a_session_counts_nothing(tmp_path: Path) -> None:
    graph = paying()
    async with Engine(tmp_path / "db") as engine:
        session = await ran(engine, graph)
        first = check(session)
    for _ in range(2):
        async with Engine(tmp_path / "db") as engine:
            again = engine.get(session.id)
            again.use(graph)
            assert [e async for e in again.events() if e.event == "token_usage"]
            assert check(again) == first
