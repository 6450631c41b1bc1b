"""`export`, `import` and `gc`: sessions that leave their database."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import graphs
from tests.e2e.command import Ran

Call = Callable[..., Ran]
Write = Callable[..., Path]


@pytest.fixture
def waiting(call: Call, graph_file: Write) -> str:
    ran = call("run", graph_file(graphs.REVIEW), "-i", "tea", "--no-input", "--json")
    return str(ran.result["session_id"])


@pytest.fixture
def file(call: Call, waiting: str, tmp_path: Path) -> Path:
    """The waiting session as a file."""
    file = tmp_path / "session.jsonl"
    ran = call("export", waiting, "-o", file)
    assert ran.out == f"wrote {file}: session {waiting}, 3 ticks\n"
    return file


def events(call: Call, session: str, *options: object) -> list[tuple[object, ...]]:
    lines = call("events", session, "--json", *options).lines
    return [(e["seq"], e["event"], e["timestamp"], e["address"], e["data"]) for e in lines]


def test_a_session_moves_to_another_database(
    call: Call, waiting: str, file: Path, tmp_path: Path
) -> None:
    there = ("--db", tmp_path / "there.db")
    ran = call("import", file, *there)
    assert (ran.code, ran.out) == (0, f"session {waiting} is waiting, with 3 ticks\n")
    assert events(call, waiting, *there) == events(call, waiting)
    shown = call("show", waiting, "--json").document
    moved = call("show", waiting, *there, "--json").document
    differs = {key for key in shown if shown[key] != moved[key]}
    assert differs <= {"updated_at"}
    assert call("answer", waiting, "approve", *there).code == 0
    assert call("show", waiting, "--json").document["status"] == "waiting"


def test_a_taken_id_is_not_overwritten(call: Call, waiting: str, file: Path) -> None:
    ran = call("import", file)
    assert ran.code == 0
    assert ran.out.endswith(f"; the id {waiting} was taken\n")
    copy = ran.out.split()[1]
    assert copy != waiting
    assert call("answer", copy, "approve").code == 0
    assert call("show", waiting, "--json").document["status"] == "waiting"


def test_a_fork_is_exported_whole(call: Call, waiting: str, tmp_path: Path) -> None:
    ran = call("fork", waiting, "--at", "Writer[1]/Editor", "--no-run")
    child, file, there = ran.out.split()[1], tmp_path / "fork", ("--db", tmp_path / "there.db")
    assert call("export", child, "-o", file).code == 0
    assert call("import", file, *there).code == 0
    assert call("show", child, *there, "--json").document["parent"] is None
    assert events(call, child, *there) == events(call, child)


def test_an_export_is_json_lines_and_private(call: Call, waiting: str, file: Path) -> None:
    header, *ticks = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert (header["rondel"], header["version"], header["ticks"]) == ("session", 1, len(ticks))
    assert [tick["t"] for tick in ticks] == ["start", "done", "ask"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert call("export", waiting).out == file.read_text("utf-8")


def test_an_export_overwrites_nothing_unless_told_to(call: Call, waiting: str, file: Path) -> None:
    before = file.read_text("utf-8")
    file.write_text("mine")
    refused = call("export", waiting, "-o", file)
    assert (refused.code, refused.out, file.read_text()) == (2, "", "mine")
    assert "exists already; use --force" in refused.err
    assert call("export", waiting, "-o", file, "--force").code == 0
    assert file.read_text("utf-8") == before
    nowhere = call("export", waiting, "-o", "/nowhere/at/all")
    assert nowhere.err == "error: /nowhere/at/all cannot be written: No such file or directory\n"
    assert sorted(file.parent.glob(".*")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "", "is not a session"),
        (lambda text: "graph: {id: g}", "is not a session"),
        (lambda text: "[1]", "is not a session"),
        (lambda text: '{"a": 1}', "is not a session"),
        (lambda text: text.replace('"version":1', '"version":9', 1), "has version 9"),
        (lambda text: text.replace('"ticks":3', '"ticks":true'), "session.jsonl:1: the session is"),
        (lambda text: text.replace('"type":"human"', '"kind":"x"'), "the session's graph is"),
        (lambda text: "\n".join(text.splitlines()[:-1]), "is not whole: it has 2 of 3 ticks"),
        (lambda text: text[:-20], "session.jsonl:4: a record of the journal is damaged"),
        (
            lambda text: text.replace('"step":2', '"step":7'),
            "session.jsonl:4: the tick does not fit",
        ),
    ],
)
def test_a_file_that_is_no_whole_session_is_refused(
    change: Callable[[str], str], message: str, call: Call, file: Path, tmp_path: Path
) -> None:
    text = file.read_text("utf-8")
    file.write_text(change(text), "utf-8")
    assert file.read_text("utf-8") != text
    there = tmp_path / "there.db"
    ran = call("import", file, "--db", there)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert not there.exists()


def test_imports_need_a_file_and_a_database(call: Call, file: Path) -> None:
    assert (
        call("import", "nowhere").err
        == "error: nowhere cannot be read: No such file or directory\n"
    )
    refused = call("import", file, "--db", ":memory:")
    assert (refused.code, refused.out) == (2, "")


# gc


def test_gc_deletes_what_has_ended(call: Call, graph_file: Write, waiting: str) -> None:
    ended = call("run", graph_file(graphs.LOOP), "--json").result["session_id"]
    assert call("gc").out == "deleted 0 sessions\n"
    dry = call("gc", "--older-than", "0s", "--dry-run").out
    assert dry.splitlines()[1].split()[:3] == [ended, "completed", "loop"]
    assert dry.endswith("\nwould delete 1 session\n")
    assert call("show", ended).code == 0
    assert call("gc", "--older-than", "0s").out.endswith("\ndeleted 1 session\n")
    assert call("show", ended).code == 2
    assert call("show", waiting).code == 0


def test_gc_keeps_what_a_fork_needs(call: Call, waiting: str) -> None:
    assert call("answer", waiting, "approve").code == 0
    child = call("fork", waiting, "--at", "Writer[1]/Editor", "--no-run").out.split()[1]
    assert call("gc", "--older-than", "0s").out == "deleted 0 sessions\n"
    assert call("answer", child, "approve").code == 0
    dry = call("gc", "--older-than", "0s", "--dry-run")
    real = call("gc", "--older-than", "0s")
    assert dry.out.replace("would delete", "deleted") == real.out
    assert real.out.endswith("\ndeleted 2 sessions\n")
    assert call("sessions").out == "no sessions\n"


def test_a_session_goes_from_a_file_to_postgresql_and_back(
    call: Call, waiting: str, file: Path, tmp_path: Path, new_database: str
) -> None:
    server, back = ("--db", new_database), ("--db", tmp_path / "back.db")
    assert call("import", file, *server).code == 0
    assert events(call, waiting, *server) == events(call, waiting)
    again = tmp_path / "again.jsonl"
    assert call("export", waiting, "-o", again, *server).code == 0
    assert again.read_bytes() == file.read_bytes()
    assert call("import", again, *back).code == 0
    assert events(call, waiting, *back) == events(call, waiting)
    assert call("answer", waiting, "approve", *server).code == 0
    assert call("answer", waiting, "approve", *back).code == 0
    for place in (server, back):
        assert call("show", waiting, *place, "--json").document["status"] == "completed"
