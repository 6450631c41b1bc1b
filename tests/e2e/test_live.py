"""A run and a watched session on a terminal: what is under way, and nothing that is stale."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import BIN, Ran
from tests.terminal import Terminal

Call = Callable[..., Ran]
GraphFile = Callable[..., Path]
RONDEL = str(BIN / "rondel")
SPINS = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")
LONG = "A reviewer with a very long name that nobody would type"


def agent(
    id: str, *answers: dict[str, Any], model: str = "scripted", **fields: Any
) -> dict[str, Any]:
    config = {"provider": "scripted", "name": model, "answers": list(answers)}
    return {"id": id, "type": "agent", "config": config, **fields}


def slow(text: str, seconds: float = 0.7, **more: Any) -> dict[str, Any]:
    return {"content": text, "delay": seconds, **more}


def branches() -> str:
    """A loop of three rounds: a writer who fails once, and five reviewers side by side."""
    usage = {"input_tokens": 900, "output_tokens": 100}
    scores = [
        slow("too long", data={"score": 62}, usage=usage),
        slow("better", 0.4, data={"score": 82}, usage=usage),
        slow("good", 0.4, data={"score": 95}, usage=usage),
    ]
    names = ["Facts", "Style", "审校员", LONG]
    nodes = [
        agent("Writer", {"error": "the model is busy"}, slow("a draft", 0.1), retry=RETRY),
        agent("Critic", *scores, model="mine"),
        *(
            agent(name, slow("标题应当更短。" if name == "审校员" else "fine", 0.8))
            for name in names
        ),
        {"id": "Gather", "type": "passthrough", "join": "all"},
        {"id": "Done", "type": "literal", "config": {"content": "word " * 60}},
    ]
    reviewers = ["Critic", *names]
    edges: list[dict[str, Any]] = [{"from": "Writer", "to": name} for name in reviewers]
    edges += [{"from": name, "to": "Gather"} for name in reviewers]
    edges += [
        {"from": "Gather", "to": "Writer"},
        {"from": "Gather", "to": "Done", "label": "goal", "condition": False},
    ]
    contract = {
        "max_rounds": 6,
        "exit_on_score": 90,
        "budget": {"usd": 0.1},
        "score": {"node": "Critic", "path": "data.score"},
    }
    body = {
        "id": "branches",
        "start": "Writer",
        "nodes": nodes,
        "edges": edges,
        "loops": {"Writer": contract},
    }
    prices = {"mine": {"input": 2.0, "output": 10.0}}
    return json.dumps({"graph": body, "prices": prices}, ensure_ascii=False)


RETRY = {"max_attempts": 3, "min_wait": "300ms", "max_wait": "300ms"}


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_every_branch_has_a_line_and_nothing_is_wider_than_the_window(
    columns: int, graph_file: GraphFile
) -> None:
    command = [RONDEL, "run", str(graph_file(branches())), "--db", ":memory:"]
    with Terminal(command, columns, 30) as terminal:
        terminal.until("try 2 of 3")
        shown = terminal.until(lambda text: len(SPINS.findall(text)) == 5)
        assert "Writer  round 1/6" in shown
        assert [name for name in ("Critic", "Facts", "Style", "审", LONG[:16]) if name in shown]
        assert re.search(r"审 ?校 ?员 .*0\.\ds", shown)
        second = terminal.until("score 62 → 82 of 90")
        assert "$0.0056 of $0.10" in second or columns == 60
        assert "▁" in second or columns == 60
        everything = terminal.end()
    assert not SPINS.search(everything)
    assert [everything.count(f"Writer round {number} ") for number in (1, 2, 3, 4)] == [1, 1, 1, 0]
    output = everything.rpartition("output")[2].split("\n")
    assert all(line.strip().endswith("word") for line in output if line.strip())


def test_no_line_is_left_behind_when_the_window_changes_or_keys_are_pressed(
    graph_file: GraphFile,
) -> None:
    command = [RONDEL, "run", str(graph_file(branches())), "--db", ":memory:"]
    with Terminal(command, 120, 30) as terminal:
        terminal.until("try 2 of 3")
        terminal.type("\n\nhello\n")
        terminal.resize(60, 30)
        terminal.until(lambda text: len(SPINS.findall(text)) == 5)
        terminal.resize(100, 30)
        terminal.until("round 2/6")
        terminal.resize(70, 30)
        terminal.until("round 3/6")
        everything = terminal.end()
    assert not SPINS.search(everything)
    assert "hello" not in everything
    assert everything.count("Writer round 3 ") == 1


def test_what_a_node_prints_goes_above(graph_file: GraphFile) -> None:
    code = """
import time
from rondel import Graph
graph = Graph("talks")

@graph.node(blocking=True)
def speaker(inp):
    for number in range(3):
        print("said", number)
        time.sleep(0.2)
    return "done"
"""
    command = [RONDEL, "run", str(graph_file(code, "talks.py")), "--db", ":memory:"]
    with Terminal(command, 80, 24) as terminal:
        everything = terminal.end()
    assert [line for line in everything.split("\n") if "said" in line] == [
        "said 0",
        "said 1",
        "said 2",
    ]
    assert not SPINS.search(everything)


def test_a_failure_is_told_once(call: Call, graph_file: GraphFile) -> None:
    nodes = [agent("Writer", {"error": "the disk is on fire"})]
    text = json.dumps({"graph": {"id": "g", "nodes": nodes, "edges": []}})
    ran = call("run", graph_file(text), "--db", ":memory:")
    assert (ran.out + ran.err).count("the disk is on fire") == 1
    assert "the disk is on fire" in ran.err
    with Terminal([RONDEL, "run", str(graph_file(text)), "--db", ":memory:"], 80, 24) as terminal:
        assert terminal.end().count("the disk is on fire") == 1


def test_a_failure_that_ends_nothing_is_told_too(call: Call, graph_file: GraphFile) -> None:
    nodes = [
        agent("Writer", {"error": "the disk is on fire"}, on_error="continue"),
        agent("Other", {"content": "hello"}),
        {"id": "Done", "type": "passthrough"},
    ]
    edges = [{"from": "Writer", "to": "Done"}, {"from": "Other", "to": "Done"}]
    text = json.dumps({"graph": {"id": "g", "nodes": nodes, "edges": edges}})
    ran = call("run", graph_file(text), "--db", ":memory:")
    assert ran.code == 0
    assert ran.out.count("Writer failed: the disk is on fire") == 1


def test_a_session_of_another_process_is_watched(
    graph_file: GraphFile, tmp_path: Path, call: Call
) -> None:
    db = str(tmp_path / "s.db")
    run = [RONDEL, "run", str(graph_file(branches())), "--db", db]
    with Terminal(run, 100, 30) as driver:
        driver.until("round 1/6")
        found = re.search(r"session (\w+)", driver.all)
        assert found is not None
        with Terminal([RONDEL, "watch", found[1], "--db", db], 80, 30) as watcher:
            watcher.until(f"watching branches, session {found[1]}")
            shown = watcher.until(lambda text: len(SPINS.findall(text)) >= 4)
            assert "Writer  round" in shown
            everything = watcher.end()
            assert watcher.process.returncode == 0
        driver.end()
    assert not SPINS.search(everything)
    assert "score_threshold_reached (95 >= 90)" in everything
    assert re.search(r"Critic +good", everything), "what agents said is shown when they end"
    late = call("watch", found[1], "--db", db)
    assert late.code == 0
    assert "score_threshold_reached (95 >= 90)" in late.out


def test_whoever_stops_watching_stops_nothing(
    graph_file: GraphFile, tmp_path: Path, call: Call
) -> None:
    text = branches().replace('"delay": 0.8', '"delay": 30')
    db = str(tmp_path / "s.db")
    with Terminal([RONDEL, "run", str(graph_file(text)), "--db", db], 100, 30) as driver:
        driver.until("round 1/6")
        found = re.search(r"session (\w+)", driver.all)
        assert found is not None
        with Terminal([RONDEL, "watch", found[1], "--db", db], 80, 30) as watcher:
            watcher.until("Facts")
            watcher.process.send_signal(2)
            assert "no longer watching; the session goes on" in watcher.end()
            assert watcher.process.returncode == 130
        assert call("show", found[1], "--db", db, "--json").document["status"] == "running"


def test_a_session_that_goes_on_begins_with_the_rounds_it_had(
    graph_file: GraphFile, tmp_path: Path, call: Call
) -> None:
    db = str(tmp_path / "s.db")
    scores = [{"content": "x", "data": {"score": score}} for score in (10, 50)]
    nodes = [
        agent("Writer", *scores, {"error": "boom"}, slow("y", 0.5, data={"score": 90})),
        {"id": "Done", "type": "passthrough"},
    ]
    edges: list[dict[str, Any]] = [
        {"from": "Writer", "to": "Writer"},
        {"from": "Writer", "to": "Done", "label": "goal", "condition": False},
    ]
    loops = {"Writer": {"max_rounds": 6, "exit_on_score": 90}}
    body = {"id": "g", "start": "Writer", "nodes": nodes, "edges": edges, "loops": loops}
    call("run", graph_file(json.dumps({"graph": body})), "--db", db)
    id = call("sessions", "--db", db, "--json").document["sessions"][0]["session_id"]
    with Terminal([RONDEL, "resume", id, "--db", db], 80, 24) as terminal:
        terminal.until("Writer  round 3/6 · score 10 → 50 of 90")
        everything = terminal.end()
    assert "Writer  rounds so far: 2 · score 10 → 50 of 90" in everything
