"""`sessions`, `show`, `rounds`, `events`, `replay`: what there is to know of a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import graphs
from tests.e2e.command import Ran

Call = Callable[..., Ran]
Write = Callable[..., Path]


@pytest.fixture
def loop(call: Call, graph_file: Write) -> str:
    """A finished session with two rounds."""
    ran = call("run", graph_file(graphs.LOOP), "-i", "tea", "--json")
    return str(ran.result["session_id"])


@pytest.fixture
def waiting(call: Call, graph_file: Write) -> str:
    """A session whose editor has asked for a second round and is asked again."""
    file = graph_file(graphs.REVIEW, "review.yaml")
    ran = call("run", file, "-i", "tea", "--answer", "revise: shorter", "--no-input", "--json")
    assert ran.code == 4
    return str(ran.result["session_id"])


def test_sessions_are_listed_newest_first(call: Call, loop: str, waiting: str) -> None:
    ran = call("sessions")
    assert (ran.code, ran.err) == (0, "")
    header, first, second = ran.out.splitlines()
    assert header.split() == ["ID", "STATUS", "GRAPH", "CREATED", "DRIVEN", "BY", "INPUTS"]
    assert first.split()[:3] == [waiting, "waiting", "review"]
    assert second.split()[:3] == [loop, "completed", "loop"]
    assert second.endswith("  tea")
    assert len({line.index("tea") for line in (first, second)}) == 1


def test_sessions_are_chosen_and_paged(call: Call, loop: str, waiting: str) -> None:
    def ids(*options: str) -> list[str]:
        return [s["session_id"] for s in call("sessions", *options, "--json").document["sessions"]]

    assert ids("--status", "waiting") == [waiting]
    assert ids("--graph", "loop") == [loop]
    assert ids("--status", "failed") == []
    page = call("sessions", "--limit", "1", "--json").document
    assert [s["session_id"] for s in page["sessions"]] == [waiting]
    assert ids("--limit", "1", "--before", page["next"]) == [loop]
    assert f"there are more: --before {page['next']}" in call("sessions", "--limit", "1").out
    assert call("sessions", "--before", page["next"], "--json").document["next"] is None


def test_a_session_as_people_see_it(call: Call, waiting: str) -> None:
    ran = call("show", waiting)
    assert (ran.code, ran.err) == (0, "")
    assert f"session    {waiting}\ngraph      review\nstatus     waiting" in ran.out
    assert "inputs     tea\n" in ran.out
    assert "question   Editor: Is it good? (approve, revise)\n" in ran.out
    assert f"answer it with: rondel answer {waiting} TEXT\n" in ran.out


def test_a_session_as_programs_see_it(call: Call, loop: str, waiting: str) -> None:
    shown = call("show", waiting, "--json").document
    assert (shown["session_id"], shown["graph_id"]) == (waiting, "review")
    assert (shown["status"], shown["inputs"]) == ("waiting", {"task": "tea"})
    assert (shown["parent"], shown["driven_by"]) == (None, None)
    [question] = shown["questions"]
    assert question == {
        "node_id": "Editor",
        "address": "Writer[2]/Editor",
        "description": "Is it good?",
        "actions": ["approve", "revise"],
        "deadline": None,
    }
    assert "steps" not in shown
    ended = call("show", loop, "--json").document
    assert (ended["status"], ended["output"], ended["questions"]) == ("completed", "two", [])
    assert ended["loops"][0]["exit_reason"] == "score_threshold_reached"


def test_steps_are_whole_for_programs_and_short_for_people(call: Call, graph_file: Write) -> None:
    long = "word " * 60
    file = graph_file(graphs.LOOP)
    session = call("run", file, "-i", long, "--json").result["session_id"]
    steps = call("show", session, "--steps", "--json").document["steps"]
    assert [step["address"] for step in steps][:3] == [
        "Writer[1]/Writer",
        "Writer[1]/Critic",
        "Writer[1]/Gate",
    ]
    assert steps[0]["inputs"][0]["content"] == long
    assert steps[0]["outputs"] == [
        {"source": "Writer", "role": "assistant", "content": "one", "data": {}}
    ]
    shown = call("show", session, "--steps").out
    assert "\n  Writer[1]/Writer: completed, 0.0s\n    in  TASK: word word" in shown
    assert "    out Writer: one\n" in shown
    assert max(map(len, shown.partition("\nsteps\n")[2].splitlines())) < 120


def test_rounds_of_a_loop(call: Call, loop: str) -> None:
    header, first, second = call("rounds", loop).out.splitlines()
    assert header.split() == [
        *("LOOP", "ROUND", "SCORE", "DELTA", "TOKENS", "SENT", "CACHED", "COST", "DURATION"),
        *("BEST", "EXIT", "REASON"),
    ]
    assert first.split()[:3] == ["Writer", "1", "70"]
    assert second.split()[:4] == ["Writer", "2", "85", "+15"]
    assert second.split()[-2:] == ["best", "score_threshold_reached"]
    records = call("rounds", loop, "--json").document
    assert [(r["round"], r["score"], r["best"]) for r in records] == [(1, 70, False), (2, 85, True)]
    assert {"loop", "address", "delta", "tokens", "usd", "duration", "exit_reason"} <= set(
        records[0]
    )


def test_a_session_without_a_loop_has_no_rounds(call: Call, graph_file: Write) -> None:
    session = call("run", graph_file(graphs.HUMAN), "--no-input", "--json").result["session_id"]
    assert call("rounds", session).out == "no rounds\n"
    assert call("rounds", session, "--json").document == []


def test_events_are_those_that_the_run_printed(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.LOOP), "-i", "tea", "--json")
    durable = [line for line in ran.out.splitlines()[:-1] if '"seq":null' not in line]
    session = ran.result["session_id"]
    assert call("events", session, "--json").out.splitlines() == durable
    assert call("events", session, "--after", "5", "--json").out.splitlines() == durable[5:]
    assert call("events", session, "--follow", "--json").out.splitlines() == durable
    lines = call("events", session).out.splitlines()
    assert len(lines) == len(durable)
    assert lines[0].split()[0] == "1"
    assert "session_state_change" in lines[0]


def test_events_of_a_waiting_session_end_where_it_waits(call: Call, waiting: str) -> None:
    ran = call("events", waiting, "--json")
    assert ran.code == 0
    assert ran.result["data"]["status"] == "waiting"


def test_replay_prints_the_same_bytes_each_time(call: Call, waiting: str) -> None:
    first, second = call("replay", waiting, "--json"), call("replay", waiting, "--json")
    assert first.out == second.out
    *events, _ = first.out.splitlines(keepends=True)
    assert "".join(events) == call("events", waiting, "--json").out
    assert first.result["event"] == "state"
    assert first.result["status"] == "waiting"


def test_replay_to_a_step_stops_before_its_outcome(call: Call, waiting: str) -> None:
    ran = call("replay", waiting, "--to", "Writer[1]/Editor", "--json")
    *events, state = ran.lines
    assert (state["status"], state["at"]) == ("waiting", "Writer[1]/Editor")
    assert [question["address"] for question in state["questions"]] == ["Writer[1]/Editor"]
    assert not any(event["event"] == "human_input_received" for event in events)
    whole = call("events", waiting, "--json").out
    assert whole.startswith("".join(ran.out.splitlines(keepends=True)[:-1]))


def test_replay_to_a_round_stops_where_it_begins(call: Call, loop: str) -> None:
    ran = call("replay", loop, "--to", "Writer[2]")
    assert "loop:round_started      Writer[2]" in ran.out
    assert "Writer[2]/Writer      status: completed" not in ran.out
    assert "the state at Writer[2]\nstatus     running\n" in ran.out


def test_replay_calls_no_model_and_no_function(
    call: Call, graph_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EFFECTS", str(tmp_path / "effects"))
    (tmp_path / "effects.go").touch()
    file = graph_file(graphs.EFFECTS, "effects.py")
    session = call("run", file, "--json").result["session_id"]
    before = (tmp_path / "effects").read_text()
    file.unlink()
    assert call("replay", session, "--to", "slow").code == 0
    assert call("show", session, "--steps").code == 0
    assert call("rounds", session).code == 0
    assert call("events", session, "--follow").code == 0
    assert (tmp_path / "effects").read_text() == before


def test_a_session_is_read_without_the_variables_of_its_graph(
    call: Call, graph_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "graph: {id: g, nodes: [{id: A, type: literal, config: {content: 'my ${WORD}'}}]}"
    monkeypatch.setenv("WORD", "secret")
    session = call("run", graph_file(text), "--json").result["session_id"]
    monkeypatch.delenv("WORD")
    assert call("show", session, "--json").document["output"] == "my secret"


@pytest.mark.parametrize("verb", ["show", "rounds", "events", "replay", "resume", "pause", "stop"])
def test_the_beginning_of_an_id_is_enough(verb: str, call: Call, waiting: str) -> None:
    found = call(verb, waiting[:4], *(["--no-input"] if verb == "resume" else []))
    assert found.code == (4 if verb == "resume" else 0), found.err
    unknown = call(verb, waiting[:3])
    assert (unknown.code, unknown.out) == (2, "")
    assert f"there is no session {waiting[:3]!r}; " in unknown.err
    near = call(verb, waiting[1:])
    assert (near.code, near.out) == (2, "")
    assert near.err == f"error: there is no session {waiting[1:]!r}; did you mean {waiting!r}?\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sessions", "--status", "runing"], "there is no state 'runing'; did you mean 'running'?"),
        (["sessions", "--before", "x"], "'x' is not the cursor of a page of sessions"),
        (["sessions", "--limit", "0"], "invalid value for '--limit'"),
        (["sessions", "--db", "nowhere.db"], "there is no database nowhere.db"),
        (["sessions", "--db", ":memory:"], "sessions in :memory: end with their process"),
        (["show", "abcdef"], "there is no session 'abcdef'; there is none yet"),
        (["show"], "missing argument 'ID'"),
        (["sesions"], "did you mean 'sessions'?"),
        (["gc", "--older-than", "soon"], "--older-than 'soon' is no length of time"),
        (["run", "x.yaml", "--durability", "ful"], "did you mean 'full'?"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(arguments: list[str], message: str, call: Call) -> None:
    ran = call(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_looking_for_sessions_makes_no_database(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDEL_DB", str(tmp_path / "new.db"))
    assert call("sessions").out == "no sessions\n"
    assert not (tmp_path / "new.db").exists()
