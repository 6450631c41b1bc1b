"""`rondel run --json`: one event a line, and last the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.e2e import graphs
from tests.e2e.command import Ran

Call = Callable[..., Ran]
Write = Callable[..., Path]

ENVELOPE = {"seq", "event", "timestamp", "session_id", "node_id", "address", "data"}
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def test_every_line_is_an_event_and_the_last_one_is_the_result(
    call: Call, graph_file: Write
) -> None:
    ran = call("run", graph_file(graphs.LOOP), "-i", "tea", "--json")
    *events, result = ran.lines
    assert (ran.code, ran.err) == (0, "")
    assert all(event.keys() == ENVELOPE for event in events)
    assert all(RFC_3339.fullmatch(event["timestamp"]) for event in events)
    numbers = [event["seq"] for event in events if event["seq"] is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {event["event"] for event in events if event["seq"] is None} == {"token_stream"}
    assert {event["session_id"] for event in events} == {result["session_id"]}
    assert events[0]["data"]["status"] == "running"
    assert events[-1]["event"] == "session_state_change"
    assert events[-1]["data"]["status"] == "completed"

    assert result["event"] == "result"
    assert result["status"] == "completed"
    assert result["output"] == "two"
    assert result["data"] == {}
    assert (result["reason"], result["message"]) == ("", "")
    assert result["usage"].keys() >= {"input_tokens", "output_tokens", "usd", "model_calls"}
    [loop] = result["loops"]
    assert loop == {
        "loop": "Writer",
        "rounds": 2,
        "exit_reason": "score_threshold_reached",
        "value": 85,
        "threshold": 85,
        "best_round": 2,
        "bounded": False,
        "entries": 1,
        "score": 85,
        "target": 85,
        "note": "",
    }


def test_rounds_tell_their_score_and_what_they_took(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.LOOP), "-i", "tea", "--json")
    rounds = [event["data"] for event in ran.lines if event["event"] == "loop:round_completed"]
    assert [(r["round"], r["score"], r["delta"]) for r in rounds] == [(1, 70, None), (2, 85, 15)]
    assert all(r["tokens"] > 0 and r["usd"] > 0 for r in rounds)


def test_debug_adds_the_edges_that_fire(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.LOOP)
    plain = call("run", file, "--json")
    assert "edge_fired" not in plain.out
    fired = [e["data"] for e in call("run", file, "--json", "--debug").lines if "from" in str(e)]
    assert {"from": "Writer", "to": "Critic"} in fired


def test_a_failed_run_has_a_result_too(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.FAILS), "--json")
    assert ran.code == 1
    assert ran.result["status"] == "failed"
    assert "the model is away" in ran.result["message"]
    assert ran.result["output"] is None
