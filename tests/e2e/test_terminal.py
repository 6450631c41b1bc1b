"""Nothing that models, tools, files or names say steers the terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rondel.cli.app import VERBS
from tests.e2e.command import BIN, Ran, environment

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202edne\u2066 \x00\x08\x7f\rover"
NAME = "\x1bc\x9b\u202edne"  # a node's id has no brackets
ESCAPES = "\x1b[2J\x9b31m"  # a file's name has no zero byte
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

Call = Callable[..., Ran]
GraphFile = Callable[..., Path]


def hostile(last: dict[str, object] | None = None) -> str:
    """A graph whose names and words all carry the attack."""
    head = f"Writer {NAME}"
    answers = [{"content": f"draft {ATTACK}", "data": {"score": 10}}]
    nodes = [
        {"id": head, "type": "agent", "config": {"provider": "scripted", "answers": answers}},
        {"id": "Done", **(last or {"type": "passthrough"})},
    ]
    edges = [
        {"from": head, "to": head, "label": "back"},
        {"from": head, "to": "Done", "label": "limit", "condition": False},
    ]
    loops = {head: {"max_rounds": 2, "exit_on_score": 90}}
    body = {"id": f"graph {ATTACK}", "start": head, "nodes": nodes, "edges": edges, "loops": loops}
    return json.dumps({"graph": body})


def asking() -> str:
    """A graph that asks a person with the attack in everything."""
    config = {"description": f"good? {ATTACK}", "actions": [f"yes {ATTACK}", "no"]}
    return hostile({"type": "human", "config": config})


CHATDEV = {
    "graph": {
        "id": f"foreign {ATTACK}",
        "start": ["A"],
        "nodes": [{"id": "A", "type": "literal", "config": {"content": f"hello {ATTACK}"}}],
        "edges": [],
    }
}


@pytest.fixture
def arguments(call: Call, graph_file: GraphFile, tmp_path: Path) -> Callable[[str], list[str]]:
    """What a command is called with so that it meets the attack."""
    db = str(tmp_path / "sessions.db")
    graph, asks = graph_file(hostile()), graph_file(asking(), "asking.yaml")
    foreign = graph_file(json.dumps(CHATDEV), "chatdev.json")

    def session(file: Path, status: str) -> str:
        call("run", file, "-i", f"task {ATTACK}", "--db", db, "--no-input")
        rows = call("sessions", "--db", db, "--status", status, "--json").document["sessions"]
        return str(rows[0]["session_id"])

    def made(verb: str) -> list[str]:
        ended = session(graph, "bounded")
        waits = session(asks, "waiting")
        head = f"Writer {NAME}[1]"
        return {
            "run": ["run", str(graph), "-i", ATTACK, "--db", db],
            "check": ["check", str(graph)],
            "estimate": ["estimate", str(graph), "--db", db],
            "simulate": ["simulate", str(graph), "-n", "2"],
            "new": ["new", f"loop{ATTACK}"],
            "schema": ["schema"],
            "sessions": ["sessions", "--db", db],
            "show": ["show", ended, "--steps", "--calls", "--db", db],
            "rounds": ["rounds", ended, "--db", db],
            "events": ["events", ended, "--db", db],
            "watch": ["watch", ended, "--db", db],
            "answer": ["answer", waits, ATTACK, "--db", db],
            "resume": ["resume", waits, "--db", db],
            "pause": ["pause", f"{ended}{ATTACK}", "--db", db],
            "stop": ["stop", waits, "--by", ATTACK, "--db", db],
            "signal": ["signal", waits, f"name {ATTACK}", "--db", db],
            "unlock": ["unlock", waits, "--because", ATTACK, "--db", db],
            "replay": ["replay", ended, "--db", db],
            "fork": ["fork", ended, "--at", head, "--db", db],
            "memory": ["memory", "quarantine", ended, "--db", db],
            "export": ["export", f"{ended}{ATTACK}", "--db", db],
            "import": ["import", str(foreign), "--from", "chatdev"],
            "gc": ["gc", "--older-than", f"1{ATTACK}", "--db", db],
            "mcp": ["mcp", "--graphs", f"nowhere{ATTACK}", "--db", db],
            "tokens": ["tokens", "create", "me", "--role", f"king{ATTACK}", "--db", db],
            "doctor": ["doctor", "--graphs", f"nowhere{ATTACK}", "--db", db],
            "bench": ["bench", "--seconds", f"long{ATTACK}", "--db", db],
            "serve": ["serve", "--host", f"nowhere{ATTACK}", "--db", db],
            "verify": ["verify", db],
            "worker": ["worker", "--db", f"nowhere{ATTACK}"],
            "backup": ["backup", db, str(tmp_path / f"away{ESCAPES}")],
            "completion": ["completion", f"bash{ESCAPES}"],
            "repair": ["repair", db, str(tmp_path / f"saved{ESCAPES}")],
        }[verb]

    return made


@pytest.mark.parametrize("verb", VERBS)
def test_no_command_writes_what_steers_a_terminal(
    verb: str, call: Call, arguments: Callable[[str], list[str]]
) -> None:
    ran = call(*arguments(verb), stdin=f"no {ATTACK}\n")
    assert ran.out + ran.err
    assert RAW.findall(ran.out + ran.err) == []


def test_a_question_and_its_answer_show_what_was_hidden(call: Call, graph_file: GraphFile) -> None:
    ran = call("run", graph_file(asking()), "--db", ":memory:", stdin="no\n")
    assert "good? \\u001b]0;owned\\u0007" in ran.out
    assert RAW.findall(ran.out + ran.err) == []


def test_the_lines_of_an_output_stay(call: Call, graph_file: GraphFile) -> None:
    said = {"type": "literal", "config": {"content": "one\n\ttwo\r\nthree\x1b[1m"}}
    text = json.dumps({"graph": {"id": "g", "nodes": [{"id": "Say", **said}], "edges": []}})
    ran = call("run", graph_file(text), "--db", ":memory:")
    assert "one\n        two\nthree\\u001b[1m" in ran.out


def test_json_says_the_same_as_ever(call: Call, graph_file: GraphFile) -> None:
    ran = call("run", graph_file(hostile()), "-i", ATTACK, "--db", ":memory:", "--json")
    assert ran.result["output"] == f"draft {ATTACK}"
    assert RAW.findall(ran.out) == []


def test_an_imported_graph_says_the_same_as_ever(
    call: Call, graph_file: GraphFile, tmp_path: Path
) -> None:
    printed = call("import", graph_file(json.dumps(CHATDEV)), "--from", "chatdev").out
    copy = tmp_path / "copy.yaml"
    copy.write_text(printed, "utf-8")
    assert call("run", copy, "--db", ":memory:", "--json").result["output"] == f"hello {ATTACK}"


def test_on_a_real_terminal_only_our_own_colours_arrive(
    graph_file: GraphFile, tmp_path: Path
) -> None:
    master, slave = pty.openpty()
    command = [str(BIN / "rondel"), "run", str(graph_file(hostile())), "--db", ":memory:"]
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment(TERM="xterm")
    )
    os.close(slave)
    received = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        received += chunk
    process.wait()
    text = received.decode()
    ours = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?(?:25|7)[hl]|\x1b\[\d*[AK]|\x1b\[2K|\r")
    assert RAW.findall(ours.sub("", text)) == []
    assert "\\u001b]0;owned" in text
