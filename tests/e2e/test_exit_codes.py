"""Every exit code of `rondel run` means what it says."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import graphs
from tests.e2e.command import Ran, rondel, start

Call = Callable[..., Ran]
Write = Callable[..., Path]


def test_0_the_run_completed(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.LOOP), "-i", "tea")
    assert (ran.code, ran.err) == (0, "")
    assert "status  completed" in ran.out


def test_1_the_run_failed(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.FAILS))
    assert ran.code == 1
    error, note = ran.err.splitlines()
    assert error.startswith("error: ")
    assert "the model is away" in error
    assert note.startswith("note: run that step again with: rondel resume ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "error: missing argument 'FILE'; --help shows what there is"),
        (["run", "GRAPH", "--nope"], "error: no such option: --nope"),
        (["run", "GRAPH", "extra"], "error: got unexpected extra argument"),
        (["rnu", "GRAPH"], "error: there is no command 'rnu'; did you mean 'run'?"),
        (
            ["--nope"],
            "error: there is no option '--nope'; there are: run, check, estimate, simulate, ",
        ),
        (["run", "GRAPH", "-i", "a", "-i", "b"], "error: -i gives 'task' twice"),
        (["run", "GRAPH", "--set", "nonsense"], "error: --set 'nonsense' is not path=value"),
        (["run", "GRAPH", "--provider", "simulate"], "did you mean 'simulated'?"),
        (["run", "missing.yaml"], "error: missing.yaml: the file does not exist"),
        (["run", "missing.yaml", "--set", "a=1"], "error: missing.yaml: the file does not exist"),
        (["run", "missing.py"], "error: missing.py: the file does not exist"),
    ],
)
def test_2_the_call_is_wrong(
    arguments: list[str], message: str, call: Call, graph_file: Write
) -> None:
    file = str(graph_file(graphs.LOOP))
    ran = call(*[file if argument == "GRAPH" else argument for argument in arguments])
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_2_a_provider_that_is_not_there_yet(call: Call, graph_file: Write) -> None:
    text = "graph: {id: g, nodes: [{id: A, type: agent, config: {provider: cohere}}]}"
    ran = call("run", graph_file(text))
    assert ran.code == 2
    assert "--provider simulated" in ran.err
    assert ran.err.count("\n") == 1


def test_3_a_loop_ended_without_its_goal(call: Call, graph_file: Write) -> None:
    change = "graph.nodes.Gate.config.exit_on_score=101"
    ran = call("run", graph_file(graphs.LOOP), "-i", "tea", "--set", change)
    assert ran.code == 3
    assert "status  bounded" in ran.out
    assert "goal not reached" in ran.out


def test_4_a_human_is_needed(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.HUMAN), "--no-input", stdin="approve\n")
    assert ran.code == 4
    assert "Is it good?" in ran.out
    [line] = call("sessions", "--json").document["sessions"]
    command = f"rondel answer {line['session_id']} TEXT"
    assert ran.err == f"error: 'Editor' waits for an answer; give one with: {command}\n"


def test_4_a_session_in_memory_cannot_be_answered_later(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.HUMAN), "--no-input", "--db", ":memory:")
    assert ran.code == 4
    assert ran.err == (
        "error: 'Editor' waits for an answer; give one with --answer 'Editor=TEXT'\n"
    )
    assert ran.out.startswith("running ask\n")
    assert call("sessions").out == "no sessions\n"


def test_4_without_a_standard_input(graph_file: Write) -> None:
    ran = rondel("run", str(graph_file(graphs.HUMAN)), stdin="")
    assert ran.code == 4


def test_5_the_session_is_locked(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.LOCKED, "locked.py"))
    assert ran.code == 5
    assert "status  suspended_locked: TOKEN_SURGE" in ran.out
    assert ran.err.startswith(
        "error: the session is locked (TOKEN_SURGE: too many tokens); open it with: rondel unlock "
    )
    assert ran.err.endswith(" --because TEXT --graph FILE.py\n")


def interrupted(*arguments: str, sign: str, by: signal.Signals) -> Ran:
    """A run that gets a signal once it has printed a sign."""
    with start("run", *arguments, "--json") as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            while sign not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(by)
            out, err = process.stdout.read(), process.stderr.read()
        finally:
            process.kill()
    return Ran(process.returncode, out, err)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("graph", "sign", "status", "advice"),
    [
        (graphs.SLOW, "token_stream", "paused", "go on with: rondel resume "),
        (graphs.HUMAN, "human_input_required", "waiting", "give one with: rondel answer "),
    ],
    ids=["while a model answers", "while a question is open"],
)
def test_130_ctrl_c_lets_go_of_the_session(
    graph: str, sign: str, status: str, advice: str, by: signal.Signals, graph_file: Write
) -> None:
    ran = interrupted(str(graph_file(graph)), sign=sign, by=by)
    assert ran.code == 130
    assert ran.result["status"] == status
    assert advice + ran.result["session_id"] in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("graph", "sign"),
    [(graphs.SLOW, "token_stream"), (graphs.HUMAN, "human_input_required")],
    ids=["while a model answers", "while a question is open"],
)
def test_130_ctrl_c_stops_a_session_in_memory(graph: str, sign: str, graph_file: Write) -> None:
    file = str(graph_file(graph))
    ran = interrupted(file, "--db", ":memory:", sign=sign, by=signal.SIGINT)
    assert (ran.code, ran.err) == (130, "")
    assert ran.result["status"] == "cancelled"


def test_a_person_at_a_terminal_is_asked_until_the_answer_will_do(graph_file: Write) -> None:
    ours, theirs = pty.openpty()
    process = start(
        "run", str(graph_file(graphs.HUMAN)), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    screen, typed = "", ["\n", "perhaps\n", "approve: nice\n"]
    end = time.monotonic() + 90
    while time.monotonic() < end:
        readable, _, _ = select.select([ours], [], [], 0.1)
        if readable:
            try:
                screen += os.read(ours, 65536).decode()
            except OSError:  # the other side is gone
                break
        if typed and screen.count("Editor> ") == 4 - len(typed):
            os.write(ours, typed.pop(0).encode())
    os.close(ours)
    assert process.wait(20) == 0
    assert typed == []
    assert "\x1b[" in screen
    assert "answer with one of: approve, revise" in screen
    assert "'perhaps' is not one of" in screen
    assert "completed" in screen


def test_nobody_reads_the_output_any_more(graph_file: Write) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    process = start("run", str(graph_file(graphs.LOOP)), "--json", "-i", "tea", stdout=theirs)
    os.close(theirs)
    _, err = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "error" not in err


def test_an_engine_that_breaks_is_told_in_one_line(
    call: Call, graph_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of cheese")

    monkeypatch.setattr("rondel.journal.sqlite.writer.SqliteWriter.append", broken)
    ran = call("run", graph_file(graphs.LOOP))
    assert ran.code == 1
    assert ran.err == (
        "error: something unexpected happened: RuntimeError: out of cheese; --debug shows where\n"
    )
    debugged = call("run", graph_file(graphs.LOOP), "--debug")
    assert debugged.code == 1
    assert "Traceback" in debugged.err


BLIND = """\
graph:
  id: blind
  start: Writer
  end: Final
  loops: {Writer: {max_rounds: 3, exit_on_score: 90, score: {node: Critic}}}
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [one, two, three]}}
    - {id: Critic, type: literal, config: {content: quite good}}
    - {id: Final, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Writer}
    - {from: Writer, to: Final, label: limit}
"""


def test_a_bad_end_is_told_with_what_check_would_have_said(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(BLIND), "-i", "tea")
    assert ran.code == 3
    missing = "no score found in 3 rounds; looked at data.score and for 'Score: N' or JSON"
    assert f"{missing} in the text of Critic" in ran.out
    assert ran.err.startswith("warning: ")
    assert "[unfed_score]" in ran.err
    scored = BLIND.replace("quite good", "'Score: 95/100'")
    assert call("run", graph_file(scored), "-i", "tea").err == ""


def test_debug_shows_where_a_node_failed(call: Call, graph_file: Write) -> None:
    text = 'from rondel import Graph\n\ngraph = Graph("bad")\n\n\n@graph.node\ndef broken(inp):\n'
    file = graph_file(f"{text}    return 1 / 0\n", "bad.py")
    assert "Traceback" not in call("run", file, "--db", ":memory:").err
    shown = call("run", file, "--db", ":memory:", "--debug").err
    assert f'File "{file}", line 8, in broken' in shown
