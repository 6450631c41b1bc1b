"""A database that cannot be used is told in one line, and no committed step is lost."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rondel.errors import JournalFull
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.sqlite.writer import SqliteWriter
from tests.e2e import graphs
from tests.e2e.command import Ran, rondel

Call = Callable[..., Ran]
Write = Callable[..., Path]


def assert_refused(ran: Ran, message: str) -> None:
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_a_file_that_is_no_database(call: Call, graph_file: Write, tmp_path: Path) -> None:
    db = tmp_path / "notes.txt"
    db.write_text("these are notes, not sessions " * 20)
    assert_refused(call("sessions", "--db", db), "the file is not a database")
    assert_refused(call("run", graph_file(graphs.LOOP), "--db", db), "the file is not a database")
    assert db.read_text().startswith("these are notes")


def test_another_programs_database(call: Call, tmp_path: Path) -> None:
    db = tmp_path / "other.db"
    with sqlite3.connect(db) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    assert_refused(call("sessions", "--db", db), "it is another program's database")


def test_a_database_of_a_newer_version(call: Call, graph_file: Write, tmp_path: Path) -> None:
    db = tmp_path / "new.db"
    assert call("run", graph_file(graphs.LOOP), "--db", db).code == 0
    with sqlite3.connect(db) as newer:
        newer.execute("PRAGMA user_version = 999")
    newer.close()
    assert_refused(call("sessions", "--db", db), "a newer version wrote it, use that one")


def test_a_place_that_cannot_be_written(call: Call, graph_file: Write) -> None:
    assert_refused(
        call("run", graph_file(graphs.LOOP), "--db", "/proc/rondel.db"), "/proc/rondel.db"
    )
    assert_refused(call("run", graph_file(graphs.LOOP), "--db", "/tmp"), "it is a folder")


def test_a_locked_database(call: Call, graph_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondel.journal.sqlite.database.PATIENCE", 0.1)
    monkeypatch.setitem(SqliteStore.__init__.__kwdefaults__, "patience", 0.1)  # type: ignore[arg-type]
    file = graph_file(graphs.LOOP)
    assert call("run", file).code == 0
    other = sqlite3.connect(os.environ["RONDEL_DB"], isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert_refused(call("run", file), "another process keeps it locked; try again")
    finally:
        other.close()


def test_a_full_disk_ends_the_run_and_the_session_goes_on_later(
    call: Call, graph_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, left = SqliteWriter.append, 3

    def full(*arguments: object, **more: object) -> object:
        nonlocal left
        left -= 1
        if left == 0:
            raise JournalFull("the journal cannot be used: the disk is full")
        return append(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(SqliteWriter, "append", full)
    ran = call("run", graph_file(graphs.LOOP), "-i", "tea")
    monkeypatch.undo()
    assert ran.code == 1
    error, note = ran.err.splitlines()
    assert error == "error: the journal cannot be used: the disk is full"
    assert "nothing recorded is lost; then go on with: rondel resume " in note


def test_a_run_that_may_not_write_any_more_can_go_on(graph_file: Write, tmp_path: Path) -> None:
    """The real thing: the file system refuses to let the journal grow."""
    db = str(tmp_path / "small.db")
    file = str(graph_file(graphs.STEADY))
    size = 200_000

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    answers = 'graph.nodes.Tick.config.answers=["x"]'
    changes = ("--set", answers, "--set", "graph.nodes.Gate.config.max_rounds=99")
    ran = rondel("run", file, *changes, "--db", db, preexec_fn=limited)
    assert ran.code == 1
    error, note = ran.err.splitlines()
    assert error.startswith(f"error: the journal {db} cannot be used: ")
    session = note.split("rondel resume ")[1].split()[0]
    done = json.loads(rondel("show", session, "--steps", "--json", "--db", db).out)["steps"]
    resumed = rondel("resume", session, "--db", db, "--json")
    assert resumed.code == 0
    assert resumed.result["loops"][0]["rounds"] == 99
    after = json.loads(rondel("show", session, "--steps", "--json", "--db", db).out)["steps"]
    finished = [step for step in done if step["status"] == "completed"]
    assert finished
    assert after[: len(finished)] == finished


def test_sessions_in_postgresql_by_address_or_variable(
    call: Call, graph_file: Write, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("run", graph_file(graphs.LOOP), "--db", database).code == 0
    monkeypatch.setenv("RONDEL_DB", database)
    (listed,) = call("sessions", "--json").document["sessions"]
    assert listed["status"] == "completed"
    assert call("show", listed["session_id"]).code == 0


def test_a_server_that_is_not_there(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondel.journal.postgres.database.OPENING", 0.0)
    ran = call("sessions", "--db", "postgresql://me:secret@127.0.0.1:1/x")
    assert_refused(ran, "it cannot be reached; check that it runs")
    assert "secret" not in ran.err


def test_who_cannot_serve_does_not_say_that_it_serves(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondel.journal.postgres.database.OPENING", 0.0)
    ran = call("serve", "--graphs", tmp_path, "--db", "postgresql://me@127.0.0.1:1/x")
    assert_refused(ran, "it cannot be reached; check that it runs")
    assert "rondel serves" not in ran.err


@pytest.mark.parametrize("command", [["sessions"], ["worker"]])
def test_a_database_that_the_server_does_not_have(
    call: Call, postgres_url: str, command: list[str]
) -> None:
    ran = call(*command, "--db", postgres_url.replace("/postgres", "/nosuch", 1))
    assert_refused(ran, "the server refuses; check the database's name, the user and the password")
    assert 'database "nosuch" does not exist' in ran.err
