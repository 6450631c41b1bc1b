"""A damaged database is told line by line, and what is whole in it can be used and saved."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import graphs
from tests.e2e.command import Ran, rondel
from tests.unit.journal.make_fixture import restore
from tests.unit.journal.test_fixtures import FIXTURES

Call = Callable[..., Ran]
Write = Callable[..., Path]


@pytest.fixture
def three(call: Call, graph_file: Write) -> list[str]:
    """The ids of three sessions that are over, oldest first."""
    file = graph_file(graphs.LOOP)
    for task in ("tea", "rice", "salt"):
        assert call("run", file, "-i", task).code == 0
    return ids(call)


def ids(call: Call, *more: str) -> list[str]:
    lines = call("sessions", *more).out.splitlines()[1:]
    return [line.split()[0] for line in reversed(lines)]


def change(statement: str, *values: object, db: str | None = None) -> None:
    with sqlite3.connect(db or os.environ["RONDEL_DB"]) as file:
        assert file.execute(statement, values).rowcount == 1
    file.close()


def spoil_tick(id: str) -> None:
    change(
        "UPDATE tick SET record = CAST(replace(record, '\"one\"', '\"won\"') AS BLOB) WHERE seq = "
        "(SELECT min(seq) FROM tick WHERE session = (SELECT key FROM session WHERE id = ?) "
        "AND instr(record, '\"one\"'))",
        id,
    )


def test_a_sound_database_is_told_to_be_so(call: Call, three: list[str]) -> None:
    ran = call("verify")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "file  ok"
    assert [line.split("  ")[0] for line in lines[1:4]] == three
    assert all("  ok, " in line and line.endswith(" ticks") for line in lines[1:4])
    assert lines[4] == "3 sessions, none damaged"


def test_a_record_that_was_changed_is_found_and_never_read_as_true(
    call: Call, three: list[str]
) -> None:
    spoil_tick(three[1])
    ran = call("verify")
    assert ran.code == 1
    damaged = [line for line in ran.out.splitlines() if "damaged:" in line]
    assert len(damaged) == 1
    assert damaged[0].startswith(f"{three[1]}  damaged: its tick ")
    assert "does not fit its checksum" in damaged[0]
    refused = call("rounds", three[1])
    assert refused.code == 2
    assert "is damaged: its checksum does not fit" in refused.err
    assert call("show", three[0]).code == 0


def test_one_bad_row_stops_neither_sessions_nor_gc(call: Call, three: list[str]) -> None:
    change("UPDATE session SET inputs = x'7b' WHERE id = ?", three[1])
    listed = call("sessions")
    assert listed.code == 0
    (line,) = [line for line in listed.out.splitlines() if line.startswith(three[1])]
    assert line.split()[1] == "damaged"
    assert f"{three[1]}  damaged: the row of session" in call("verify").out
    assert call("gc", "--older-than", "0s").out.endswith("deleted 2 sessions\n")
    assert ids(call) == [three[1]]


def test_repair_saves_what_is_whole_and_names_the_rest(
    call: Call, three: list[str], graph_file: Write, tmp_path: Path
) -> None:
    asked = call("run", graph_file(graphs.HUMAN), "--no-input")
    assert asked.code == 4
    fork = call("fork", three[1], "--at", "Writer[2]", "--no-run")
    assert fork.code == 0
    everything = ids(call)
    spoil_tick(three[2])
    change("UPDATE session SET status = 'failed' WHERE id = ?", three[0])
    target = str(tmp_path / "new.db")
    ran = call("repair", os.environ["RONDEL_DB"], target)
    assert ran.code == 1
    lost = [line.split("  ")[0] for line in ran.out.splitlines() if "  lost: " in line]
    assert sorted(lost) == sorted([three[0], three[2]])
    assert ran.out.splitlines()[-1] == f"saved 3 of 5 sessions to {target}"
    assert ids(call, "--db", target) == [id for id in everything if id not in lost]
    assert call("verify", target).code == 0
    assert call("rounds", three[1], "--db", target).out == call("rounds", three[1]).out
    (waiting,) = ids(call, "--db", target, "--status", "waiting")
    assert call("answer", waiting, "approve", "--db", target).code == 0


def test_a_damaged_log_is_refused_untouched_and_what_lies_before_it_is_saved(
    call: Call, three: list[str], graph_file: Write, tmp_path: Path
) -> None:
    db, left = os.environ["RONDEL_DB"], tmp_path / "left.db"
    other = sqlite3.connect(db, isolation_level=None)  # who keeps it open keeps its log
    try:
        other.execute("SELECT * FROM session").fetchall()
        for task in ("oil", "wine"):
            assert rondel("run", graph_file(graphs.LOOP), "-i", task).code == 0
        everything = ids(call)
        for end in ("", "-wal"):
            shutil.copyfile(f"{db}{end}", f"{left}{end}")
    finally:
        other.close()
    log = bytearray(Path(f"{left}-wal").read_bytes())
    log[len(log) // 5] ^= 4
    Path(f"{left}-wal").write_bytes(log)
    for verb in (("sessions", "--db", left), ("verify", left)):
        ran = call(*verb)
        assert ran.code != 0
        assert "its log is damaged at page " in ran.err + ran.out
        assert "rondel repair" in ran.err + ran.out
    target = str(tmp_path / "new.db")
    ran = call("repair", str(left), target)
    assert ran.code == 1
    assert "log  lost: what was committed from page " in ran.out
    saved = ids(call, "--db", target)
    assert set(three) <= set(saved) < set(everything)
    assert Path(f"{left}-wal").read_bytes() == log
    assert call("verify", target).code == 0


def test_repair_keeps_what_is_there(call: Call, three: list[str], tmp_path: Path) -> None:
    target = tmp_path / "new.db"
    target.write_text("mine")
    assert three
    for verb in ("repair", "backup"):
        ran = call(verb, os.environ["RONDEL_DB"], target)
        assert ran.code == 2
        assert "exists already" in ran.err
    assert target.read_text() == "mine"


def test_a_backup_is_whole_while_others_write(call: Call, three: list[str], tmp_path: Path) -> None:
    db, target = os.environ["RONDEL_DB"], str(tmp_path / "copy.db")
    other = sqlite3.connect(db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        ran = call("backup", db, target)
    finally:
        other.close()
    assert ran.code == 0
    assert f"copied {db} to {target}" in ran.out
    assert ids(call, "--db", target) == three
    verified = call("verify", target)
    assert (verified.code, verified.err) == (0, "")


KILLED = """
import os, signal, sys
from rondel.journal.sqlite.store import SqliteStore
from rondel.testing.journal_suite import row, tick
store = SqliteStore(sys.argv[1])
for name in ("a", "b"):
    store.create(row(name))
    store.append(name, tick(0))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_missing_log_is_told(call: Call, tmp_path: Path) -> None:
    db = tmp_path / "killed.db"
    subprocess.run([sys.executable, "-c", KILLED, str(db)], check=False)
    alone = tmp_path / "alone.db"
    shutil.copy(db, alone)
    ran = call("sessions", "--db", alone)
    assert ran.out == "no sessions\n"
    assert "warning: " in ran.err
    assert "its write-ahead log (-wal) is missing" in ran.err
    verified = call("verify", alone)
    assert verified.code == 1
    assert verified.out.startswith("file  damaged: its write-ahead log")
    # With its log it is whole, and stays so when the log has been moved in.
    for _ in range(2):
        found = call("sessions", "--db", db)
        assert found.err == ""
        assert len(found.out.splitlines()) == 3


def test_a_database_of_an_earlier_version_has_no_checksums_and_is_sound(
    call: Call, tmp_path: Path
) -> None:
    db = tmp_path / "old.db"
    restore((FIXTURES / "v4" / "journal.sql").read_text("utf-8"), db)
    ran = call("verify", db)
    assert ran.out.startswith("file  ok\n")


def test_the_command_ends_with_what_it_found(three: list[str], call: Call) -> None:
    spoil_tick(three[0])
    assert rondel("verify", os.environ["RONDEL_DB"]).code == 1
