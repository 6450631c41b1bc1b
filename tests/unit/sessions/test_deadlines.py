"""Questions that nobody answers in time are settled as the graph says."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.errors import GraphError, WrongState
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import finish
from tests.unit.sessions.playing import limited

YAML = """
graph:
  id: ask
  start: Draft
  end: Out
  nodes:
    - {{id: Draft, type: literal, config: {{content: A draft.}}}}
    - {{id: Editor, type: human, config: {config}}}
    - {{id: Out, type: passthrough}}
  edges:
    - {{from: Draft, to: Editor}}
    - {{from: Editor, to: Out, condition: {{type: expr, config: {{expr: "!has(data.action) || data.action != 'revise'"}}}}}}
    - {{from: Editor, to: Editor, condition: {{type: expr, config: {{expr: "has(data.action) && data.action == 'revise'"}}}}}}
"""  # noqa: E501


def asking(config: str) -> Graph:
    return Graph.loads(YAML.format(config=config))


def result_of(config: str) -> Any:
    async def main() -> Any:
        async with Engine(db=None) as engine:
            session = await engine.start(asking(config))
            return await session.result()

    return limited(main())


def test_past_its_deadline_a_question_takes_the_answer_it_was_given_for_that() -> None:
    result = result_of("{actions: [approve, reject], timeout: 50ms, on_timeout: approve}")
    assert (result.status, result.output) == ("completed", "approve")
    assert result.data == {"action": "approve"}


def test_without_such_an_answer_the_step_fails() -> None:
    result = result_of("{timeout: 50ms}")
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert "nobody answered in time" in result.message


async def test_an_answer_in_time_disarms_the_deadline() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("{timeout: 1h, on_timeout: late}"))
        await session.settled()
        (question,) = session.asking
        assert question.deadline is not None
        await session.answer("in time")
        assert (await session.result()).output == "in time"


async def test_a_deadline_that_passed_while_nobody_was_there_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.start(asking("{timeout: 1h, on_timeout: late}"))
        await session.settled()
    in_two_hours = time.time() + 7200
    monkeypatch.setattr(time, "time", lambda: in_two_hours)
    async with Engine(db=tmp_path / "s.db") as engine:
        session = engine.get(session.id)
        assert session.status == "waiting"
        with pytest.raises(WrongState):
            await session.answer("too late")
        assert (await session.result()).output == "late"


async def test_a_process_that_recovers_minds_the_deadlines_of_others(tmp_path: Path) -> None:
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.start(asking("{timeout: 300ms, on_timeout: late}"))
        await session.settled()
    async with Engine(db=tmp_path / "s.db") as engine:
        await engine.recover()
        session = engine.get(session.id)
        assert (await session.result()).output == "late"


async def test_to_revise_is_offered_only_so_often() -> None:
    async with Engine(db=None) as engine:
        graph = asking("{actions: [approve, revise], max_revisions: 2}")
        session = await engine.start(graph)
        for offered in (["approve", "revise"], ["approve", "revise"], ["approve"]):
            await session.settled()
            (question,) = session.asking
            assert question.actions == offered
            await session.answer("revise")
        await session.settled()
        (question,) = session.asking
        assert "revised 2 times already" in question.description
        await session.answer("approve")
        assert (await session.result()).output == "approve"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("{max_revisions: 2}", "max_revisions counts answers of the action 'revise'"),
        ("{on_timeout: approve}", "on_timeout needs a timeout"),
        ("{timeout: 1h, on_timeout: maybe, actions: [yes, no]}", "an answer that can be given"),
        ("{timeout: 0}", "longer than 0"),
    ],
)
def test_settings_that_make_no_sense_are_told_at_load(config: str, told: str) -> None:
    with pytest.raises(GraphError, match=told):
        asking(config)


async def test_recovering_reads_no_session_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine(db=tmp_path / "s.db") as engine:
        for _ in range(3):
            await (await engine.start(asking("{timeout: 1h, on_timeout: late}"))).settled()
        await (await engine.start(asking("{}"))).settled()
    read: list[str] = []
    scan = SqliteStore.scan
    monkeypatch.setattr(
        SqliteStore,
        "scan",
        lambda store, name, start=0: read.append(name) or scan(store, name, start),
    )
    async with Engine(db=tmp_path / "s.db") as engine:
        assert await engine.recover() == []
        await asyncio.sleep(0.1)
        assert len(engine.store.due()) == 3
        assert read == []


async def test_who_recovered_minds_the_deadlines_that_others_note_later(tmp_path: Path) -> None:
    async with Engine(db=tmp_path / "s.db") as minding:
        await minding.recover()
        async with Engine(db=tmp_path / "s.db") as other:
            session = await other.start(asking("{timeout: 200ms, on_timeout: late}"))
            await session.settled()
        assert (await minding.get(session.id).result()).output == "late"
        assert minding.store.due() == []


async def test_a_deadline_that_an_earlier_version_did_not_note_is_found_and_noted(
    tmp_path: Path,
) -> None:
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.start(asking("{timeout: 1h, on_timeout: late}"))
        await session.settled()
        (noted,) = engine.store.due()
        await finish(engine.store.set_status(session.id, "waiting", "human_input", 0.0))
    async with Engine(db=tmp_path / "s.db") as engine:
        await engine.recover()
        async with asyncio.timeout(5):
            while [due.at for due in engine.store.due()] != [noted.at]:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert engine.get(session.id).status == "waiting"


async def test_while_it_is_paused_an_answer_disarms_the_deadline_too(tmp_path: Path) -> None:
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.start(asking("{timeout: 1h, on_timeout: late}"))
        await session.settled()
        await session.pause()
        assert len(engine.store.due()) == 1
        await session.answer("in time")
        assert engine.store.due() == []
