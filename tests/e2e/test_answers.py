"""Who answers the questions of a run: options, a pipe, or nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.e2e import graphs
from tests.e2e.command import Ran, rondel, start

Call = Callable[..., Ran]
Write = Callable[..., Path]


def test_answers_are_used_in_order(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.HUMAN)
    ran = call("run", file, "--answer", "perhaps", "--answer", "revise: shorter", "--json")
    assert ran.code == 0
    assert ran.result["output"] == "revise: shorter"
    assert ran.result["data"] == {"action": "revise", "comment": "shorter"}
    given = [e["data"]["answer"] for e in ran.lines if e["event"] == "human_input_received"]
    assert given == ["perhaps", "revise: shorter"]


def test_answers_go_to_the_node_they_name(call: Call, graph_file: Write) -> None:
    arguments = ("--answer", "Press Office=print it", "--answer", "a = b")
    ran = call("run", graph_file(graphs.TWO_HUMANS), *arguments, "--json")
    assert ran.code == 0
    received = {
        e["node_id"]: e["data"]["answer"] for e in ran.lines if e["event"] == "human_input_received"
    }
    assert received == {"Press Office": "print it", "Legal": "a = b"}


def test_an_answer_for_a_misspelt_node_is_refused(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.TWO_HUMANS), "--answer", "Pres Office=print it")
    assert (ran.code, ran.out) == (2, "")
    assert "no node 'Pres Office' asks anybody; did you mean 'Press Office'?" in ran.err


def test_the_run_waits_when_one_of_two_questions_stays_open(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.TWO_HUMANS)
    for node, other in (("Legal", "Press Office"), ("Press Office", "Legal")):
        ran = call("run", file, "--no-input", "--answer", f"{node}=yes", "--json")
        assert ran.code == 4
        assert ran.result["status"] == "waiting"
        assert f"{other!r} waits for an answer; give one with: rondel answer " in ran.err
        assert ran.err.count("\n") == 1


def test_lines_of_a_pipe_are_answers(graph_file: Write) -> None:
    ran = rondel("run", str(graph_file(graphs.HUMAN)), stdin="\nperhaps\n\napprove\n")
    assert ran.code == 0
    assert "Editor> perhaps" in ran.out
    assert "Editor> approve" in ran.out
    assert "\x1b" not in ran.out


def test_options_come_before_the_pipe_and_its_last_line_needs_no_end(graph_file: Write) -> None:
    file = str(graph_file(graphs.TWO_HUMANS))
    ran = rondel("run", file, "--answer", "Legal=ja", "--json", stdin="nein")
    assert ran.code == 0
    assert ran.result["output"] == "nein"


def test_lines_of_a_file_are_answers(graph_file: Write, tmp_path: Path) -> None:
    answers = tmp_path / "answers.txt"
    answers.write_text("perhaps\napprove\n", "utf-8")
    with answers.open() as stream, start("run", str(graph_file(graphs.HUMAN)), stdin=stream) as run:
        out, _ = run.communicate()
    assert run.returncode == 0
    assert "Editor> approve" in out
