"""Sessions of foreign files are resumed, forked and replayed as all others, without their file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import ROOT, Ran

Call = Callable[..., Ran]

REVIEW = """\
graph:
  id: review
  start: [writer]
  end: [last]
  nodes:
    - {id: writer, type: passthrough, config: {}}
    - {id: reviewer, type: human, config: {description: Well?}}
    - {id: guard, type: loop_counter, config: {max_iterations: 3}}
    - id: box
      type: subgraph
      config:
        type: config
        config:
          id: inner
          start: [count]
          nodes: [{id: count, type: loop_counter, config: {max_iterations: 2}}]
          edges: []
    - {id: last, type: passthrough, config: {}}
  edges:
    - {from: writer, to: box}
    - {from: box, to: reviewer}
    - {from: reviewer, to: writer}
    - {from: reviewer, to: guard}
    - {from: guard, to: writer}
    - {from: guard, to: last}
"""
COUNCIL = ROOT / "tests/fixtures/council/optimize.json"


@pytest.fixture
def waiting(call: Call, tmp_path: Path) -> str:
    """A session that waits for its reviewer, and whose file is gone."""
    file = tmp_path / "review.yaml"
    file.write_text(REVIEW)
    ran = call("run", file, "--compat", "chatdev", "-i", "tea", "--no-input", "--json")
    assert ran.code == 4
    file.unlink()
    return str(ran.result["session_id"])


def _nodes(call: Call, session: str) -> list[str]:
    shown: dict[str, Any] = call("show", session, "--steps", "--json").document
    return [step["node_id"] for step in shown["steps"]]


def _ended(ran: Ran) -> tuple[int, str, str, int]:
    result = ran.result
    return ran.code, result["status"], result["output"], result["loops"][0]["rounds"]


ENDED = (0, "completed", "Loop limit reached (3)", 3)


def test_a_session_is_answered_and_resumed_by_the_rules_of_its_file(
    call: Call, waiting: str
) -> None:
    assert call("answer", waiting, "no", "--no-run").code == 0
    assert call("resume", waiting, "--no-input").code == 4
    ran = call("resume", waiting, "--answer", "no", "--answer", "no", "--json")
    assert _ended(ran) == ENDED
    assert _nodes(call, waiting).count("writer") == 3, "the loop ended at once"
    steps = call("show", waiting, "--steps", "--json").document["steps"]
    said = [step["outputs"] for step in steps if step["node_id"] == "box/count"]
    assert said == [[], [], []], "a counter in a subgraph starts anew at each call"


def test_a_fork_from_a_round_goes_on_by_the_same_rules(call: Call, waiting: str) -> None:
    call("resume", waiting, "--answer", "no", "--answer", "no", "--answer", "no")
    forked = call("fork", waiting, "--at", "writer[2]", "--json", "--answer", "a", "--answer", "b")
    assert _ended(forked) == ENDED
    child = forked.result["session_id"]
    assert _nodes(call, child) == _nodes(call, waiting)
    parts = call("show", child, "--steps", "--json").document["steps"]
    said = [step["outputs"][0]["content"] for step in parts if step["node_id"] == "reviewer"]
    assert said == ["no", "a", "b"]


def test_a_fork_can_change_a_node_of_the_translation(call: Call, waiting: str) -> None:
    change = ("--set", "nodes.guard.config.max_iterations=2")
    forked = call("fork", waiting, "--at", "writer[1]/reviewer", *change, "--json", stdin="a\nb\n")
    assert _ended(forked) == (0, "completed", "Loop limit reached (2)", 2)


def test_a_replay_tells_the_same_events_again(call: Call, waiting: str) -> None:
    ran = call("resume", waiting, "--answer", "no", "--answer", "no", "--answer", "no", "--json")
    told = call("events", waiting, "--json").out
    replayed = call("replay", waiting, "--json")
    assert replayed.out.startswith(told)
    state = replayed.result
    assert (state["status"], state["output"]) == ("completed", ran.result["output"])
    part = call("replay", waiting, "--to", "writer[2]", "--json")
    assert part.result["status"] == "running"
    assert told.startswith("\n".join(part.out.splitlines()[:-1]))


def test_a_session_is_exported_and_imported_with_its_rules(
    call: Call, waiting: str, tmp_path: Path
) -> None:
    file, db = tmp_path / "session.jsonl", tmp_path / "other.db"
    assert call("export", waiting, "-o", file).code == 0
    assert call("import", file, "--db", db).code == 0
    ran = call("resume", waiting, "--db", db, *["--answer", "no"] * 3, "--json")
    assert _ended(ran) == ENDED


def test_a_council_session_goes_on_without_its_file(call: Call) -> None:
    score = ("--set", 'graph.nodes.adjudicator.config.score={"start": 85, "step": 5}')
    options = ("--compat", "council", "-i", "tea", "--no-input", "--json")
    ran = call("run", COUNCIL, *options, *score)
    assert ran.code == 4
    session = ran.result["session_id"]
    done = call("resume", session, "--answer", "apply", "--answer", "apply", "--json")
    assert done.code == 0
    assert done.result["loops"][0]["exit_reason"] == "score_threshold_reached"
    forked = call("fork", session, "--at", "memory_retrieval[1]", "--answer", "exit", "--json")
    assert forked.result["loops"][0]["exit_reason"] == "condition_met"
    assert forked.result["status"] == "completed"


KEYS = """\
graph:
  id: keys
  start: [who]
  nodes:
    - {id: who, type: human, config: {description: Who?}}
    - id: writer
      type: agent
      config:
        provider: openai
        name: gpt-4o
        api_key: sk-0123456789abcdef0123
        base_url: http://127.0.0.1:9/v1
        retry: {enabled: false}
  edges: [{from: who, to: writer}]
"""


def test_a_session_whose_file_has_keys_takes_that_file_again(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    file.write_text(KEYS)
    ran = call("run", file, "--compat", "chatdev", "-i", "x", "--no-input", "--json")
    session = ran.result["session_id"]
    done = call("resume", session, file, "--answer", "me", "--json")
    assert done.result["status"] == "failed", "nobody listens at that address"
    assert "writer" in done.result["message"]
    assert "api_key" not in done.err
