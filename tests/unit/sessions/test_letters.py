"""What another process asks for by letter is there once its letter is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rondel import Context, Engine, Graph
from rondel.engine.protocols import Usage
from rondel.errors import CallError, SessionBusy, WrongState
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions.controls import Answer, Pause, Signal, Stop
from rondel.sessions.delivery import ControlDelivery
from tests.unit.sessions.playing import alone, until


async def test_a_letter_goes_with_what_it_asked_for_and_with_nothing_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop is recorded behind what its steps have spent; only then may the letter be gone."""
    written: list[tuple[str, bool]] = []
    append = SqliteStore.append

    def noting(store: SqliteStore, session: str, tick: Any, **more: Any) -> Any:
        written.append((type(tick).__name__, more.get("letter") is not None))
        return append(store, session, tick, **more)

    monkeypatch.setattr(SqliteStore, "append", noting)

    charged = asyncio.Event()

    async def spends(inp: Context) -> None:
        inp.charge(Usage("m", 10))
        charged.set()
        await asyncio.Event().wait()

    async with Engine(tmp_path / "db") as engine, Engine(tmp_path / "db") as other:
        session = await engine.start(alone(spends))
        await charged.wait()
        await ControlDelivery(other.get(session.id)._local).post(Stop("Ada"))
        assert (await session.result()).message == "stopped by Ada"
        await until(lambda: not other.store.letters(session.id))
    assert written[-2:] == [("Spent", False), ("Stopped", True)]


# What senders are told


def asking_beside(busy: asyncio.Event) -> Graph:
    """A question, and beside it a step that keeps the session with its driver."""
    graph = Graph("g", start=["ask", "work"], end="ask")
    graph.add("ask", "human", {"description": "Well?"})

    @graph.node
    async def work(inp: Context) -> str:
        await busy.wait()
        return "worked"

    return graph


async def test_whoever_does_not_drive_a_session_learns_what_became_of_its_controls(
    tmp_path: Path,
) -> None:
    busy = asyncio.Event()
    async with Engine(tmp_path / "db") as engine, Engine(tmp_path / "db") as other:
        session = await engine.start(asking_beside(busy))
        await until(lambda: bool(session.questions()))
        far = other.get(session.id)
        delivered = await far.control(Signal("Ada", "go", 1))
        assert (delivered.changed, delivered.taken) == (True, True)
        assert delivered.driver is not None
        await far.pause("Ada")
        assert not (await far.control(Pause("Bob"))).changed
        with pytest.raises(CallError, match=f"session {session.id} has no node 'nobody'"):
            await far.answer("yes", node="nobody")
        await far.answer("yes", by="Ada")
        with pytest.raises(WrongState) as refused:
            await far.answer("again")
        with pytest.raises(WrongState) as as_here:
            await session.answer("again")
        assert str(refused.value) == str(as_here.value)
        with pytest.raises(SessionBusy):
            await far.resume()
        await far.stop("Ada")
        assert (await session.result()).message == "stopped by Ada"
        assert not engine.store.letters(session.id)
        by = [tick.by for tick in session.journal() if hasattr(tick, "by")]
        assert by == ["Ada", "Ada", "Ada", "Ada"]


@pytest.mark.parametrize("busy", [True, False])
async def test_of_two_answers_at_once_one_is_told_so_and_the_other_is_refused(
    tmp_path: Path, busy: bool
) -> None:
    free = asyncio.Event()
    if not busy:
        free.set()
    graph = asking_beside(free)
    async with Engine(tmp_path / "db") as engine, Engine(tmp_path / "db") as other:
        session = await engine.start(graph)
        await until(lambda: bool(session.questions()))
        if not busy:
            await session.settled()
        far = other.get(session.id)
        far.use(graph)
        both = await asyncio.gather(
            session.answer("here"), far.answer("there"), return_exceptions=True
        )
        refused = [error for error in both if error is not None]
        assert [type(error) for error in refused] == [WrongState]
        free.set()
        answer = "here" if both[0] is None else "there"
        assert (await session.result()).output == answer


async def test_a_letter_is_read_by_a_driver_that_has_just_parked(tmp_path: Path) -> None:
    """It lies there before anybody looks again, and its sender is gone."""

    busy = asyncio.Event()
    async with Engine(tmp_path / "db") as engine, Engine(tmp_path / "db") as other:
        session = await engine.start(asking_beside(busy))
        await until(lambda: bool(session.questions()))
        engine.store.changes = lambda: 0  # type: ignore[method-assign]  # it never looks
        await ControlDelivery(other.get(session.id)._local).post(Answer("Ada", "yes"))
        busy.set()
        result = await session.result()
        assert (result.status, result.output) == ("completed", "yes")


async def test_a_letter_to_a_session_that_has_ended_is_refused(tmp_path: Path) -> None:
    busy = asyncio.Event()
    async with Engine(tmp_path / "db") as engine, Engine(tmp_path / "db") as other:
        session = await engine.start(asking_beside(busy))
        await until(lambda: bool(session.questions()))
        letter = await ControlDelivery(other.get(session.id)._local).post(Stop("Ada"))
        late = await ControlDelivery(other.get(session.id)._local).post(Signal("Ada", "late"))
        await until(lambda: other.store.reply_to(late) is not None)
        assert other.store.reply_to(letter) is not None
        reply = other.store.reply_to(late)
        assert reply is not None
        assert "is cancelled; it cannot be signalled any more" in reply.refusal


async def test_stop_and_pause_need_no_functions(tmp_path: Path) -> None:
    busy = asyncio.Event()
    busy.set()
    async with Engine(tmp_path / "db") as engine:
        session = await engine.start(asking_beside(busy))
        await session.settled()
    async with Engine(tmp_path / "db") as engine:
        again = engine.get(session.id)
        await again.pause()
        assert again.status == "paused"
        await again.stop("Ada")
        assert (await again.result()).message == "stopped by Ada"
