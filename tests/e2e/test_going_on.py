"""`answer`, `resume`, `unlock`, `fork` and the other controls, one command after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import graphs
from tests.e2e.command import Ran

Call = Callable[..., Ran]
Write = Callable[..., Path]


@pytest.fixture
def waiting(call: Call, graph_file: Write) -> str:
    """A session that waits for its editor."""
    ran = call("run", graph_file(graphs.REVIEW), "-i", "tea", "--no-input", "--json")
    assert ran.code == 4
    return str(ran.result["session_id"])


def shown(call: Call, session: str) -> dict[str, Any]:
    document: dict[str, Any] = call("show", session, "--json").document
    return document


def status(call: Call, session: str) -> str:
    return str(shown(call, session)["status"])


# Answers


def test_an_answer_goes_on_to_the_end(call: Call, waiting: str) -> None:
    ran = call("answer", waiting, "approve", "--by", "Ada")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"resuming review, session {waiting}\n")
    assert "status  completed" in ran.out
    received = [e for e in call("events", waiting, "--json").lines if "by" in e["data"]]
    assert [e["data"] for e in received] == [{"answer": "approve", "by": "Ada"}]


def test_an_answer_leads_to_the_next_question(call: Call, waiting: str) -> None:
    ran = call("answer", waiting, "revise: shorter", "--no-input")
    assert ran.code == 4
    assert "  Writer  two\n" in ran.out
    assert "  Writer  one\n" not in ran.out
    assert f"give one with: rondel answer {waiting} TEXT" in ran.err
    piped = call("answer", waiting, "revise", stdin="approve\n")
    assert piped.code == 0
    assert "Editor> approve" in piped.out


def test_after_a_refused_answer_the_question_is_shown_once_with_the_reason(
    call: Call, waiting: str
) -> None:
    ran = call("answer", waiting, "perhaps", "--no-input")
    assert ran.code == 4
    assert ran.out.count("Editor asks") == 1
    assert "'perhaps' is not one of" in ran.out


def test_an_answer_shows_only_new_events(call: Call, waiting: str) -> None:
    before = len(call("events", waiting, "--json").lines)
    ran = call("answer", waiting, "approve", "--json")
    assert ran.result["event"] == "result"
    numbers = [event["seq"] for event in ran.lines[:-1] if event["seq"] is not None]
    assert numbers[0] == before + 1
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_an_answer_can_only_be_recorded(call: Call, waiting: str) -> None:
    ran = call("answer", waiting, "approve", "--no-run")
    assert ran.code == 0
    assert ran.out == f"session {waiting} is answered; go on with: rondel resume {waiting}\n"
    assert status(call, waiting) == "running"
    assert "nobody; go on with: rondel resume" in call("show", waiting).out
    assert "  nobody  " in call("sessions").out
    again = call("answer", waiting, "approve")
    assert (again.code, again.out) == (2, "")
    assert "no open question to answer" in again.err
    assert call("resume", waiting).code == 0


def test_an_answer_goes_to_the_node_it_names(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.TWO_HUMANS), "--no-input", "--json")
    session = ran.result["session_id"]
    assert f"rondel answer {session} TEXT --node 'Press Office'" in ran.err
    wrong = call("answer", session, "yes", "--node", "Nobody")
    assert (wrong.code, wrong.out) == (2, "")
    assert "has no node 'Nobody'" in wrong.err
    first = call("answer", session, "print it", "--node", "Press Office", "--no-input")
    assert first.code == 4
    assert call("answer", session, "fine", "--json").result["output"] == "print it"


def test_commands_name_the_database_that_they_need(
    call: Call, graph_file: Write, tmp_path: Path
) -> None:
    db = tmp_path / "my sessions.db"
    ran = call("run", graph_file(graphs.REVIEW), "--no-input", "--db", db)
    assert f" TEXT --db '{db}'\n" in ran.err
    assert call("sessions").out == "no sessions\n"
    [session] = call("sessions", "--db", db, "--json").document["sessions"]
    assert call("answer", session["session_id"], "approve", "--db", db).code == 0


# Resume


def test_resume_asks_the_open_question_again(call: Call, waiting: str) -> None:
    ran = call("resume", waiting, "--no-input")
    assert ran.code == 4
    assert "Is it good?" in ran.out
    assert call("resume", waiting, "--answer", "revise", "--answer", "approve").code == 0


def test_a_paused_session_is_resumed(call: Call, waiting: str) -> None:
    ran = call("pause", waiting)
    assert ran.out == f"session {waiting} is paused; go on with: rondel resume {waiting}\n"
    again = call("pause", waiting)
    assert again.code == 0
    assert "is paused already" in again.out
    answered = call("answer", waiting, "approve")
    assert answered.code == 130
    assert f"go on with: rondel resume {waiting}" in answered.err
    assert call("resume", waiting).code == 0


UNTIL_IT_IS_THERE = """
graph:
  id: fetch
  nodes:
    - {id: Fetch, type: python, config: {code: "print(open(inputs['text']).read())"}}
"""


UNTIL_RAISES = """
graph:
  id: polish
  start: Writer
  loops: {Writer: {max_rounds: 3, until: "data.score > 90"}}
  nodes:
    - {id: Writer, type: literal, config: {content: a text}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Writer, to: Writer}
    - {from: Writer, to: Done, condition: false}
"""


def test_an_until_that_raises_is_corrected_in_a_fork(call: Call, graph_file: Write) -> None:
    run = call("run", graph_file(UNTIL_RAISES), "--json")
    session = run.result["session_id"]
    assert (run.code, run.result["reason"]) == (1, "contract_failed")
    how = f"rondel fork {session} --set loops.Writer.until=EXPRESSION"
    advice = f"correct the loop's `until` and go on with: {how}\n"
    assert run.err.endswith(f"note: {advice}")
    assert f"failed     {advice}" in call("show", session).out
    change = ("--set", "loops.Writer.until=round > 1")
    ran = call("fork", session, *change, "--json")
    assert (ran.code, ran.result["loops"][0]["rounds"]) == (0, 2)


def test_a_failed_step_runs_again(call: Call, graph_file: Write, tmp_path: Path) -> None:
    wanted = tmp_path / "wanted.txt"
    file = graph_file(UNTIL_IT_IS_THERE)
    run = call("run", file, "-i", str(wanted), "--allow-python", "--json")
    assert (run.code, run.result["status"]) == (1, "failed")
    session = run.result["session_id"]
    how = f"rondel resume {session} --allow-python"
    assert f"failed     run that step again with: {how}\n" in call("show", session).out
    wanted.write_text("here it is")
    ran = call("resume", session, "--allow-python", "--json")
    assert (ran.code, ran.result["output"]) == (0, "here it is")
    again = call("resume", session)
    assert (again.code, "here it is" in again.out) == (0, True)


def test_an_ended_session_takes_no_control(call: Call, waiting: str) -> None:
    assert call("stop", waiting, "--by", "Ada").out == f"session {waiting} is cancelled\n"
    assert shown(call, waiting)["message"] == "stopped by Ada"
    assert call("stop", waiting).out == f"session {waiting} is cancelled already\n"
    over = call("resume", waiting, "--json")
    assert (over.code, over.result["message"]) == (130, "stopped by Ada")
    for verb in (["pause"], ["signal", "x"], ["answer", "x"], ["unlock", "--checked"]):
        ran = call(verb[0], waiting, *verb[1:])
        assert (ran.code, ran.out) == (2, ""), verb
        assert f"session {waiting} is cancelled" in ran.err
        assert ran.err.count("\n") == 1


def test_a_graph_of_a_file_is_not_handed_over(call: Call, waiting: str, graph_file: Write) -> None:
    ran = call("resume", waiting, graph_file(graphs.REVIEW))
    assert (ran.code, ran.out) == (2, "")
    assert "keeps its own copy of its graph" in ran.err


def test_the_session_keeps_its_graph_when_the_file_changes(
    call: Call, graph_file: Write, waiting: str
) -> None:
    graph_file("graph: {id: other, nodes: [{id: A, type: passthrough}]}")
    assert call("answer", waiting, "revise", "--answer", "x").code == 2
    assert "  Writer  two\n" in call("answer", waiting, "revise", "--no-input").out


# Graphs written in Python


def test_a_python_graph_is_handed_over_again(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.ASKS_IN_PYTHON, "asks.py")
    ran = call("run", file, "--no-input", "--json")
    session = ran.result["session_id"]
    assert f"rondel answer {session} TEXT --graph FILE.py" in ran.err
    refused = call("answer", session, "yes")
    assert (refused.code, refused.out) == (2, "")
    assert f"name its file: rondel answer {session} TEXT --graph FILE.py" in refused.err
    assert call("signal", session, "mood", '{"good": true}').code == 0
    assert call("signal", session, "word", "plain").code == 0
    assert call("answer", session, "yes", "--no-run").code == 0
    assert f"name its file: rondel resume {session} FILE.py" in call("resume", session).err
    assert call("resume", session, file, "--json").result["output"] == (
        "yes of [('mood', {'good': True}), ('word', 'plain')]"
    )


def test_another_python_graph_is_refused(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.ASKS_IN_PYTHON, "asks.py")
    session = call("run", file, "--no-input", "--json").result["session_id"]
    other = graph_file(graphs.ASKS_IN_PYTHON + "graph.add('more', 'passthrough')\n", "other.py")
    ran = call("resume", session, other)
    assert (ran.code, ran.out) == (2, "")
    assert "its structure differs" in ran.err


def test_functions_that_changed_are_told_or_refused(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.ASKS_IN_PYTHON, "asks.py")
    session = call("run", file, "--no-input", "--json").result["session_id"]
    graph_file(graphs.ASKS_IN_PYTHON.replace(" of ", " for "), "asks.py")
    refused = call("answer", session, "yes", "--graph", file, "--strict-code")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        f"error: node done changed since session {session} began; hand over the graph as it was, "
        "or go on without strict code\n"
    )
    told = call("answer", session, "yes", "--graph", file, "--json")
    assert told.result["output"] == "yes for []"
    assert told.err.startswith(f"warning: node done changed since session {session} began")


def test_a_comment_in_a_function_is_no_change(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.ASKS_IN_PYTHON, "asks.py")
    session = call("run", file, "--no-input", "--json").result["session_id"]
    comment = "(inp):\n    # the last word\n"
    graph_file(graphs.ASKS_IN_PYTHON.replace("(inp):\n", comment), "asks.py")
    ran = call("answer", session, "yes", "--graph", file, "--strict-code", "--json")
    assert (ran.code, ran.err) == (0, "")


def test_a_changed_python_graph_stays_changed(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.ASKS_IN_PYTHON, "asks.py")
    change = "graph.nodes.editor.config.description=Really?"
    session = call("run", file, "--no-input", "--set", change, "--json").result["session_id"]
    ran = call("resume", session, file, "--no-input")
    assert (ran.code, "Really?" in ran.out) == (4, True)


def test_a_fork_of_a_python_graph_takes_its_file_too(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.ASKS_IN_PYTHON, "asks.py")
    session = call("run", file, "--answer", "no", "--json").result["session_id"]
    refused = call("fork", session, "--at", "editor")
    assert (refused.code, refused.out) == (2, "")
    assert f"name its file: rondel fork {session} FILE.py --at editor" in refused.err
    change = "nodes.editor.config.description=Sure?"
    forked = call("fork", session, file, "--at", "editor", "--set", change, "--no-run")
    child = forked.out.split()[1]
    assert call("resume", child, file, "--answer", "yes", "--json").result["output"] == "yes of []"


# Locks


def test_a_lock_is_opened_with_a_reason(
    call: Call, graph_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = graph_file(graphs.OPENS, "opens.py")
    ran = call("run", file, "--json")
    session = ran.result["session_id"]
    assert ran.code == 5
    for options in ([], ["--because", " "]):
        refused = call("unlock", session, *options)
        assert (refused.code, refused.out) == (2, "")
    resumed = call("resume", session, file)
    assert (resumed.code, resumed.out) == (2, "")
    assert "is locked; unlock it to go on" in resumed.err
    still = call("unlock", session, "--because", "x", "--checked", "--graph", file)
    assert still.code == 5
    monkeypatch.setenv("BREAKER", "open")
    opened = call("unlock", session, "--because", "looked at it", "--graph", file, "--by", "Ada")
    assert (opened.code, opened.err) == (0, "")
    told = [e["data"] for e in call("events", session, "--json").lines if "unlocked" in e["event"]]
    assert told[-1] == {"by": "Ada", "risk_justification": "looked at it"}


def test_an_unlock_can_only_be_recorded(
    call: Call, graph_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = graph_file(graphs.OPENS, "opens.py")
    session = call("run", file, "--json").result["session_id"]
    ran = call("unlock", session, "--checked", "--no-run")
    assert (
        ran.out == f"session {session} is unlocked; go on with: rondel resume {session} FILE.py\n"
    )
    again = call("unlock", session, "--checked")
    assert (again.code, again.out) == (2, "")
    assert "is running; there is no lock to open" in again.err
    monkeypatch.setenv("BREAKER", "open")
    assert call("resume", session, file).code == 0


def test_that_a_session_is_to_go_on_can_only_be_recorded(call: Call, waiting: str) -> None:
    assert call("pause", waiting).code == 0
    refused = call("resume", waiting, "--no-run", "--answer", "Editor=approve")
    assert (refused.code, refused.out) == (2, "")
    assert "leave out FILE and --answer" in refused.err
    assert status(call, waiting) == "paused"
    ran = call("resume", waiting, "--no-run")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"session {waiting} is resumed; go on with: rondel resume {waiting}\n"
    assert status(call, waiting) != "paused"
    assert call("answer", waiting, "approve").code == 0
    assert call("resume", waiting, "--no-run").out == call("resume", waiting).out


# Forks


def test_a_fork_goes_another_way(call: Call, waiting: str) -> None:
    assert call("answer", waiting, "approve").code == 0
    ran = call("fork", waiting, "--at", "Writer[1]/Editor", "--set", "answer=revise", "--no-input")
    assert ran.code == 4
    assert ran.out.startswith(f"fork of {waiting} at Writer[1]/Editor, session ")
    assert "  Writer  two\n" in ran.out
    [child] = call("sessions", "--status", "waiting", "--json").document["sessions"]
    assert child["parent"] == waiting
    assert f"fork of    {waiting}, with its first " in call("show", child["session_id"]).out
    assert status(call, waiting) == "completed"


def test_a_fork_asks_the_question_of_its_past(call: Call, waiting: str) -> None:
    assert call("answer", waiting, "approve").code == 0
    ran = call("fork", waiting, "--at", "Writer[1]/Editor", stdin="revise\napprove\n")
    assert ran.code == 0
    assert ran.out.count("Is it good?") == 2


def test_a_fork_changes_inputs_and_nodes(call: Call, waiting: str) -> None:
    changes = ("--set", "inputs.task=coffee", "--set", 'nodes.Writer.config.answers=["new"]')
    ran = call("fork", waiting, "--at", "Writer[1]/Writer", *changes, "--no-run")
    assert ran.code == 0
    child = ran.out.split()[1]
    assert ran.out.endswith(f"at Writer[1]/Writer; go on with: rondel resume {child}\n")
    assert (status(call, child), shown(call, child)["inputs"]) == ("pending", {"task": "coffee"})
    resumed = call("resume", child, "--no-input")
    assert "  Writer  new\n" in resumed.out


def test_a_fork_that_does_not_run_yet_stands_where_it_begins(call: Call, waiting: str) -> None:
    arguments = ("fork", waiting, "--at", "Writer[1]/Editor", "--no-run")
    child = call(*arguments).out.split()[1]
    assert status(call, child) == "waiting"
    answered = call(*arguments, "--set", "answer=approve").out.split()[1]
    assert status(call, answered) == "running"
    assert call("resume", answered).code == 0
    assert call("answer", child, "approve").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "Writer[1]/Edito"], "did you mean Writer[1]/Editor"),
        (["--at", "Writer[1]/Editor", "--set", "x"], "--set 'x' is not path=value"),
        (["--at", "Writer[1]/Editor", "--set", "x=1"], "a fork cannot change 'x'"),
        (["--at", "Writer[1]/Editor", "--set", "inputs.task=1"], "the inputs were read before"),
        (["--at", "Writer[1]/Editor", "--set", "nodes.No.config.a=1"], "names no node"),
        ([], "say where to fork: --at ADDRESS"),
        (["--set", "loops.Writer.max_round=8"], "max_rounds"),
        (["--set", "edges=[]"], "a fork cannot change 'edges'"),
    ],
)
def test_a_wrong_fork_is_told(arguments: list[str], message: str, call: Call, waiting: str) -> None:
    ran = call("fork", waiting, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert len(call("sessions", "--json").document["sessions"]) == 1


def test_a_replaced_provider_stays_replaced_in_included_files(
    call: Call, graph_file: Write
) -> None:
    graph_file(
        "graph: {id: inner, nodes: [{id: A, type: agent, config: {provider: cohere, role: x}}]}",
        "inner.yaml",
    )
    text = """
graph:
  id: outer
  nodes:
    - {id: Editor, type: human}
    - {id: Inner, type: subgraph, config: {file: inner.yaml}}
  edges: [{from: Editor, to: Inner}]
"""
    file = graph_file(text)
    ran = call("run", file, "--provider", "simulated", "--no-input", "--json")
    assert ran.code == 4
    assert call("answer", ran.result["session_id"], "go").code == 0


BOUNDED = """
graph:
  id: refine
  start: Writer
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [one, two, three, four]}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Writer, to: Writer}
    - {from: Writer, to: Done, label: limit}
  loops: {Writer: {max_rounds: 2, exit_on_score: 90}}
"""


def test_a_fork_has_more_rounds_after_bounded(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(BOUNDED), "--json")
    assert (ran.code, ran.result["output"]) == (3, "two")
    session = ran.result["session_id"]
    fork = call("fork", session, "--set", "loops.Writer.max_rounds=4", "--json")
    assert (fork.code, fork.result["output"]) == (3, "four")
    assert fork.result["usage"]["model_calls"] == 2
    assert call("fork", session, "--set", "loops.Writer.max_rounds=3").out.startswith(
        f"fork of {session}, session "
    )
    as_in_a_file = "--set", "loops.Writer.patience={rounds: 9}"
    fork = call("fork", session, "--set", "loops.Writer.max_rounds=4", *as_in_a_file, "--json")
    assert fork.result["output"] == "four"


@pytest.fixture
def with_tools(call: Call, graph_file: Write) -> tuple[str, Path]:
    """A waiting session whose agent calls a function of its own file, and that file."""
    file = graph_file(graphs.TOOLS, "weather.py")
    ran = call("run", file, "--no-input", "--json")
    assert ran.code == 4
    return str(ran.result["session_id"]), file


@pytest.mark.parametrize("verb", ["show", "rounds", "events", "replay", "pause", "stop"])
def test_a_session_with_function_tools_is_read_without_them(
    verb: str, call: Call, with_tools: tuple[str, Path]
) -> None:
    session, file = with_tools
    ran = call(verb, session)
    assert (ran.code, ran.err) == (0, "")
    if verb in ("replay", "pause", "stop"):
        assert call(verb, session, file).code == 0


def test_a_session_with_function_tools_goes_on_with_its_file(
    call: Call, with_tools: tuple[str, Path]
) -> None:
    session, file = with_tools
    assert f"rondel answer {session} TEXT --graph FILE.py" in call("show", session).out
    for verb in (
        ["answer", session, "here"],
        ["resume", session],
        ["fork", session, "--at", "Ask"],
    ):
        ran = call(*verb)
        assert (ran.code, ran.err.count("\n")) == (2, 1), verb
        assert "there is no function named 'look'" in ran.err
    forked = call("fork", session, file, "--at", "Ask", "--set", "answer=there", "--json")
    assert (forked.code, forked.result["output"]) == (0, "It is sunny.")
    ran = call("answer", session, "here", file, "--json")
    assert (ran.code, ran.result["output"]) == (0, "It is sunny.")
    assert "tool_execution" in {event["event"] for event in ran.lines}
