"""Attachments and Python code on the command line, and attachments on their way to a model."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Ran
from tests.openai_server import OpenAIServer

Call = Callable[..., Ran]
Write = Callable[..., Path]

PASSING = "graph: {id: g, nodes: [{id: Pass, type: passthrough}]}"
AGENT = """
graph:
  id: g
  nodes:
    - id: Reader
      type: agent
      config: {provider: openai, name: m, base_url: "%s", attempts: 1}
"""
CODE = """
graph:
  id: g
  nodes:
    - {id: Human, type: human}
    - {id: Code, type: python, config: {code: "print(inputs['text'] * 2)"}}
  edges: [{from: Human, to: Code}]
"""
PIXEL = b"\x89PNG\r\n\x1a\n not quite"


@pytest.fixture(autouse=True)
def _database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDEL_DB", str(tmp_path / "s.db"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def files(tmp_path: Path) -> tuple[Path, Path]:
    picture, notes = tmp_path / "pixel.png", tmp_path / "notes.txt"
    picture.write_bytes(PIXEL)
    notes.write_text("remember the milk")
    return picture, notes


def test_attached_files_are_shown_by_name_and_never_by_content(
    call: Call, graph_file: Write, tmp_path: Path
) -> None:
    picture, notes = files(tmp_path)
    ran = call(
        *(
            "run",
            graph_file(PASSING),
            "-i",
            "look",
            "--attach",
            picture,
            "--attach",
            notes,
            "--json",
        )
    )
    assert (ran.code, ran.result["output"]) == (0, "look")
    id = ran.result["session_id"]
    shown = call("show", id, "--steps")
    assert "pixel.png" in shown.out
    document = call("show", id, "--steps", "--json")
    content = document.document["steps"][0]["inputs"][0]["content"]
    assert content[1] == {
        "attachment": sha256(PIXEL).hexdigest(),
        "media_type": "image/png",
        "name": "pixel.png",
        "size": len(PIXEL),
    }
    said = ran.out + shown.out + document.out + call("events", id, "--json").out
    assert "milk" not in said
    assert base64.b64encode(PIXEL).decode() not in said


@pytest.mark.parametrize("wrong", ["missing.png", "."])
def test_a_file_that_cannot_be_attached_is_told_before_anything_runs(
    wrong: str, call: Call, graph_file: Write, tmp_path: Path
) -> None:
    ran = call("run", graph_file(PASSING), "-i", "x", "--attach", tmp_path / wrong)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert "cannot be attached" in ran.err
    assert call("sessions", "--json").document["sessions"] == []


def test_a_file_that_is_too_large_is_refused(call: Call, graph_file: Write, tmp_path: Path) -> None:
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(20_000_001)
    ran = call("run", graph_file(PASSING), "-i", "x", "--attach", large)
    assert ran.code == 2
    assert "20,000,001 bytes and an attachment may have 20,000,000" in ran.err


def test_an_export_carries_what_is_attached_and_gc_removes_it(
    call: Call, graph_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture, _ = files(tmp_path)
    ran = call("run", graph_file(PASSING), "-i", "look", "--attach", picture, "--json")
    id, archive, again = ran.result["session_id"], tmp_path / "session", tmp_path / "again"
    assert call("export", id, "-o", archive).code == 0
    monkeypatch.setenv("RONDEL_DB", str(tmp_path / "other.db"))
    assert call("import", archive).code == 0
    assert call("export", id, "-o", again).code == 0
    assert again.read_bytes() == archive.read_bytes()
    assert PIXEL in (tmp_path / "other.db").read_bytes()
    assert call("gc", "--older-than", "0s").code == 0
    assert call("import", archive).code == 0  # the name is free again
    lines = archive.read_text().splitlines()
    damaged = json.loads(lines[-1])
    damaged["content"] = base64.b64encode(b"other").decode()
    for text in ("\n".join(lines[:-1]), "\n".join([*lines[:-1], json.dumps(damaged)])):
        archive.write_text(text + "\n")
        refused = call("import", archive)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "attachment" in refused.err


def test_a_model_gets_images_as_they_are_and_texts_as_text(
    call: Call, graph_file: Write, tmp_path: Path
) -> None:
    picture, notes = files(tmp_path)
    with OpenAIServer("I see.") as server:
        file = graph_file(AGENT % server.url)
        ran = call("run", file, "-i", "look", "--attach", picture, "--attach", notes)
        assert ran.code == 0
        parts: list[dict[str, Any]] = server.bodies[0]["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text"]
    assert parts[0]["text"] == "look"
    url = parts[1]["image_url"]["url"]
    assert url == f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    assert "remember the milk" in parts[2]["text"]


BALLOT = '{"decision": "yes", "score": 9, "reasoning": "seen"}'
CLAIMS = '{"claims": [{"claim": "c", "verified": true, "confidence": 1, "sources": []}]}'
INSIDE = {
    "agent with input_mode prompt": ("agent", "{input_mode: prompt, %s}", "I see."),
    "vote": ("vote", "{agents: {A: {%s}}}", BALLOT),
    "vote with input_mode prompt": ("vote", "{agents: {A: {input_mode: prompt, %s}}}", BALLOT),
    "debate": ("debate", "{agents: {A: {%s}}, agent_pairs: [[A, A]], max_rounds: 1}", "I see."),
    "fact_check": ("fact_check", "{agent: {%s}}", CLAIMS),
}


@pytest.mark.parametrize("kind", INSIDE)
def test_what_is_attached_reaches_every_model(
    kind: str, call: Call, graph_file: Write, tmp_path: Path
) -> None:
    type_, config, answer = INSIDE[kind]
    with OpenAIServer(answer) as server:
        agent = f'provider: openai, name: m, base_url: "{server.url}", attempts: 1'
        node = f"{{id: N, type: {type_}, config: {config % agent}}}"
        file = graph_file(f"graph: {{id: g, nodes: [{node}]}}")
        ran = call("run", file, "-i", "look", "--attach", files(tmp_path)[0])
        assert ran.code == 0, ran.err
        parts: list[dict[str, Any]] = server.bodies[0]["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url"]
    assert "look" in parts[0]["text"]


def test_what_no_model_reads_fails_in_one_line(
    call: Call, graph_file: Write, tmp_path: Path
) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(b"PK\x03\x04")
    with OpenAIServer("I see.") as server:
        ran = call("run", graph_file(AGENT % server.url), "-i", "look", "--attach", archive)
        assert not server.seen
    assert ran.code == 1
    assert "'a.zip' is application/zip, which no model reads" in ran.err


# Python code


def test_code_runs_only_where_it_is_allowed(call: Call, graph_file: Write) -> None:
    file = graph_file(CODE)
    refused = call("run", file, "--no-input")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("\n") == 1
    assert "'Code'" in refused.err
    assert "--allow-python" in refused.err
    waiting = call("run", file, "--no-input", "--allow-python", "--json")
    assert waiting.code == 4
    assert "--allow-python" in waiting.err
    id = waiting.result["session_id"]
    for verb in (("answer", id, "ab"), ("resume", id), ("fork", id, "--at", "Human")):
        again = call(*verb, "--no-input")
        assert (again.code, again.err.count("\n")) == (2, 1)
        assert "--allow-python" in again.err
    assert call("show", id).code == 0
    answered = call("answer", id, "ab", "--allow-python", "--json")
    assert (answered.code, answered.result["output"]) == (0, "abab")
    forked = call("fork", id, "--at", "Code", "--allow-python", "--json")
    assert (forked.code, forked.result["output"]) == (0, "abab")
    assert len(call("sessions", "--json").document["sessions"]) == 2
