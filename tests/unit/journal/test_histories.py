"""Sessions that earlier versions drove fold to what they came to, and go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine
from rondel.journal.sqlite import migrations
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions.salvage import with_fold_problems
from tests.unit.journal.make_fixture import restore
from tests.unit.journal.test_fixtures import FIXTURES

VERSIONS = [f"v{n}" for n in range(1, migrations.latest() + 1)]


@pytest.fixture(params=VERSIONS)
def folder(request: pytest.FixtureRequest) -> Path:
    return FIXTURES / str(request.param)


@pytest.fixture
def db(folder: Path, tmp_path: Path) -> Path:
    """The file, written by the engine of that version."""
    path = tmp_path / "journal.db"
    restore((folder / "history.sql").read_text("utf-8"), path)
    return path


@pytest.fixture
def came_to(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "history.json").read_text("utf-8"))
    return found


async def test_every_session_came_to_the_same(db: Path, came_to: dict[str, Any]) -> None:
    async with Engine(db) as engine:
        for expected in came_to.values():
            session = engine.get(expected["id"])
            result = session.snapshot()
            assert (result.status, result.output) == (expected["status"], expected["output"])
            loops = [[loop.loop, loop.rounds, loop.exit_reason] for loop in result.loops]
            assert loops == expected["loops"]
            assert [step.address for step in session.steps()] == expected["steps"]


async def test_what_waited_is_answered(db: Path, came_to: dict[str, Any]) -> None:
    async with Engine(db) as engine:
        session = engine.get(came_to["waiting"]["id"])
        await session.answer("at last")
        assert (await session.result()).output == "at last"


async def test_all_are_sound_and_those_without_a_checksum_are_told(
    folder: Path, db: Path, came_to: dict[str, Any]
) -> None:
    store = SqliteStore(db)
    async with Engine(store) as engine:
        found = store.verify()
        assert found.file == []
        findings = list(with_fold_problems(engine, found.sessions))
        assert {finding.id for finding in findings} == {one["id"] for one in came_to.values()}
        assert [finding.problems for finding in findings] == [[]] * len(findings)
        before_checksums = int(folder.name[1:]) < 6
        for finding in findings:
            assert finding.unsealed == (finding.ticks if before_checksums else 0)
