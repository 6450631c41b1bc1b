"""`rondel bench` measures a step here, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rondel import Engine
from tests.e2e.command import Ran


def test_memory_and_file_are_measured_and_the_database_is_not_touched(
    call: Callable[..., Ran], tmp_path: Path
) -> None:
    ran = call("bench", "--json", "--seconds", "0", "--db", tmp_path / "mine.db")
    assert ran.code == 0
    found = [(each["store"], each["sessions"]) for each in ran.document]
    assert found == [("memory", 1), ("memory", 100), ("SQLite", 1), ("SQLite", 100)]
    for each in ran.document:
        per_second = 1e6 / each["microseconds_per_step"]
        assert abs(each["steps_per_second"] / per_second - 1) < 0.01
    assert list(tmp_path.iterdir()) == []


def test_what_people_read_says_how_the_engine_is_built(
    call: Callable[..., Ran], tmp_path: Path
) -> None:
    ran = call("bench", "--seconds", "0", "--db", tmp_path / "mine.db")
    lines = ran.out.splitlines()
    assert lines[0].split() == ["STORE", "AT", "ONCE", "A", "STEP", "STEPS/S"]
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["memory", "1"],
        ["memory", "100"],
        ["SQLite", "1"],
        ["SQLite", "100"],
    ]
    assert lines[-1] in ("rondel: compiled", "rondel: plain Python")


def test_in_memory_there_is_no_database(call: Callable[..., Ran]) -> None:
    ran = call("bench", "--json", "--seconds", "0", "--db", ":memory:")
    assert [each["store"] for each in ran.document] == ["memory", "memory"]


def test_sessions_in_postgresql_are_deleted_afterwards(
    call: Callable[..., Ran], new_database: str
) -> None:
    ran = call("bench", "--json", "--seconds", "0", "--db", new_database)
    assert ran.code == 0
    assert [each["store"] for each in ran.document][2:] == ["PostgreSQL", "PostgreSQL"]
    engine = Engine(new_database)
    assert engine.sessions().rows == []
    engine.store.close()
