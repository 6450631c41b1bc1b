"""A long past is read in parts: any point is reached from the nearest snapshot, none is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, Session
from rondel.errors import CallError
from rondel.sessions.records import StepLister, logical_place, questions_of, result_of

ROUNDS = 400

LONG = f"""
graph:
  id: long
  start: A
  breaker: off
  loops: {{A: {{max_rounds: {ROUNDS}}}}}
  nodes:
    - {{id: A, type: literal, config: {{content: a}}}}
    - {{id: B, type: literal, config: {{content: b}}}}
    - {{id: C, type: literal, config: {{content: c}}}}
    - {{id: Gate, type: loop, config: {{max_rounds: {ROUNDS}}}}}
    - {{id: End, type: passthrough}}
  edges:
    - {{from: A, to: B}}
    - {{from: A, to: C}}
    - {{from: B, to: Gate}}
    - {{from: C, to: Gate}}
    - {{from: Gate, to: A}}
    - {{from: Gate, to: End}}
"""

NESTED = """
graph:
  id: nested
  start: Out
  breaker: off
  loops: {Out: {max_rounds: 12}, In: {max_rounds: 9}}
  nodes:
    - {id: Out, type: literal, config: {content: o}}
    - {id: In, type: literal, config: {content: i}}
    - {id: Again, type: loop, config: {max_rounds: 9}}
    - {id: Ask, type: human, config: {timeout: 1ms, on_timeout: go on}}
    - {id: Gate, type: loop, config: {max_rounds: 12}}
    - {id: End, type: passthrough}
  edges:
    - {from: Out, to: In}
    - {from: In, to: Again}
    - {from: Again, to: In}
    - {from: Again, to: Ask}
    - {from: Ask, to: Gate}
    - {from: Gate, to: Out}
    - {from: Gate, to: End}
"""


@pytest.fixture(autouse=True)
def _many_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondel.sessions.recorder.SNAPSHOT_EVERY", 20)
    monkeypatch.setattr("rondel.sessions.recorder.SNAPSHOT_BYTES_PER_TICK", 10**6)
    monkeypatch.setattr("rondel.sessions.records.HELD", 15)


async def run(engine: Engine, text: str) -> Session:
    session = await engine.start(Graph.loads(text))
    await session.result()
    return session


def naively(session: Session, address: str) -> int:
    """Where an address is, by folding everything from the beginning."""
    past = session.past
    past._store = Blind(past._store)  # type: ignore[assignment]
    return past.position_of(address)


class Blind:
    """A store without snapshots."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def latest_snapshot(self, _id: str, _at_most: int | None = None) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.mark.parametrize("text", [LONG, NESTED], ids=["long", "nested"])
async def test_every_address_is_where_it_is_without_snapshots(tmp_path: Path, text: str) -> None:
    async with Engine(tmp_path / "s.db") as engine:
        session = await run(engine, text)
        addresses = [step.address for step in session.steps()]
        addresses += [found.address for found in session.rounds()]
        for address in addresses[:: 1 + len(addresses) // 80]:
            assert session.past.position_of(address) == naively(session, address), address
        with pytest.raises(CallError, match="did you mean"):
            session.past.position_of(addresses[-1] + "x")


@pytest.mark.parametrize("text", [LONG, NESTED], ids=["long", "nested"])
async def test_the_state_is_the_same_from_a_snapshot(tmp_path: Path, text: str) -> None:
    async with Engine(tmp_path / "s.db") as engine:
        session = await run(engine, text)
        blind = session.past
        blind._store = Blind(blind._store)  # type: ignore[assignment]
        for length in range(1, blind.length, blind.length // 12):
            one, other = session.past.state_at(length), blind.state_at(length)
            assert result_of("x", one) == result_of("x", other)
            assert questions_of(one) == questions_of(other)


async def test_a_late_address_takes_few_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine(tmp_path / "s.db") as engine:
        session = await run(engine, LONG)
        past, read = session.past, 0
        scan = past._store.scan

        def counted(id: str, start: int = 0) -> Iterator[Any]:
            nonlocal read
            for batch in scan(id, start):
                for tick in batch:
                    read += 1
                    yield [tick]

        monkeypatch.setattr(past._store, "scan", counted)
        for address in (f"A[{ROUNDS - 3}]/B", f"A[{ROUNDS // 2}]", "A[4]/C"):
            read = 0
            past.state_at(past.position_of(address))
            assert read < past.length / 10
        fork = await session.fork(f"A[{ROUNDS - 1}]/B")
        assert (await fork.result()).loops[0].rounds == ROUNDS


@pytest.mark.parametrize("text", [LONG, NESTED], ids=["long", "nested"])
async def test_steps_that_are_told_one_by_one_are_in_their_order(tmp_path: Path, text: str) -> None:
    async with Engine(tmp_path / "s.db") as engine:
        session = await run(engine, text)
        places: dict[str, tuple[int, ...]] = {}
        lister = StepLister(session.plan)
        start = lister._start

        def noting(step: Any, address: str) -> None:
            places[address] = logical_place(step)
            start(step, address)

        lister._start = noting  # type: ignore[method-assign]
        held, told = 0, []
        for record in lister.stream(session.past.ticks()):
            told.append(record.address)
            held = max(held, len(lister._steps))
        assert sorted(told) == sorted(places)
        assert [places[address] for address in told] == sorted(places.values())
        assert held < len(told) / 4


@pytest.mark.parametrize("text", [LONG, NESTED])
async def test_the_last_steps_and_rounds_are_found_without_reading_all(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine(tmp_path / "rondel.db") as engine:
        session = await run(engine, text)
        steps, rounds = session.steps(), session.rounds()
        for last in (1, 7, 30, 10**6):
            assert session.steps(last) == steps[-last:]
            assert session.rounds(last) == rounds[-last:]
        read: list[int] = []
        scan = engine.store.scan
        monkeypatch.setattr(
            engine.store, "scan", lambda whose, start: read.append(start) or scan(whose, start)
        )
        session.rounds(1)
        assert min(read) > session.row.length / 2
        with pytest.raises(CallError, match="1 or more"):
            session.rounds(0)


async def test_rounds_of_a_loop_that_failed_go_on_when_it_is_resumed(tmp_path: Path) -> None:
    graph = Graph("flaky")
    calls = []

    @graph.node
    def work(inp: Any) -> dict[str, int]:
        calls.append(inp.round)
        if len(calls) == 3:
            raise ValueError("not now")
        return {"score": inp.round}

    @graph.node
    def done(inp: Any) -> str:
        return str(inp.text)

    graph.edge("work", "work", when=lambda message: message.data["score"] < 4)
    graph.edge("work", "done", when="data.score >= 4")
    async with Engine(tmp_path / "rondel.db") as engine:
        session = await engine.start(graph)
        assert (await session.result()).status == "failed"
        assert [record.exit_reason for record in session.rounds()] == [None, None, "failed"]
        await session.resume()
        await session.result()
        rounds = session.rounds()
        assert [record.round for record in rounds] == [1, 2, 3, 4]
        assert [record.exit_reason for record in rounds] == [None, None, None, "exit_edge"]
