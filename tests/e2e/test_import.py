"""`rondel import --from` and `--compat`: foreign graphs on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.e2e.command import ROOT, Ran

CASE = """\
version: 0.4.0
graph:
  id: review
  log_level: INFO
  start: [w]
  end: [z]
  nodes:
    - {id: w, type: passthrough, config: {}}
    - {id: r, type: human, config: {description: Well?}}
    - {id: g, type: loop_counter, config: {max_iterations: 2}}
    - {id: z, type: passthrough, config: {}}
  edges:
    - {from: w, to: r}
    - {from: r, to: w}
    - {from: r, to: g}
    - {from: g, to: w}
    - {from: g, to: z}
"""
ANSWERS = ("--answer", "no", "--answer", "no")


def test_a_chatdev_file_runs_as_it_is_and_as_its_translation(
    tmp_path: Path, call: Callable[..., Ran]
) -> None:
    foreign, native = tmp_path / "foreign.yaml", tmp_path / "native.yaml"
    foreign.write_text(CASE)
    ran = call("import", foreign, "--from", "chatdev", "-o", native)
    assert ran.code == 0
    assert f"left out: {foreign}:4 graph.log_level" in ran.err
    assert f"changed: {foreign}:1 version" in ran.err
    there = call("run", foreign, "--compat", "chatdev", "-i", "x", *ANSWERS, "--json").result
    here = call("run", native, "-i", "x", *ANSWERS, "--json").result
    for result in (there, here):
        assert (result["status"], result["output"]) == ("completed", "Loop limit reached (2)")
        assert result["loops"][0]["rounds"] == 2


def test_an_imported_graph_goes_back(tmp_path: Path, call: Callable[..., Ran]) -> None:
    foreign, native = tmp_path / "foreign.yaml", tmp_path / "native.yaml"
    foreign.write_text(CASE)
    call("import", foreign, "--from", "chatdev", "-o", native)
    back = call("import", native, "--to", "chatdev")
    assert back.code == 0
    assert "dialect" not in back.out
    assert call("import", native, "--to", "chatdev", "-o", native).code == 2


def test_what_chatdev_cannot_hold_is_written_beside_it_and_told(call: Callable[..., Ran]) -> None:
    file = ROOT / "examples/09_loop_contract/graph.yaml"
    ran = call("import", file, "--to", "chatdev")
    assert ran.code == 0
    assert "x-rondel:" in ran.out
    assert f"unseen: {file}:8 graph.loops.Writer: ChatDev knows no contract" in ran.err
    assert "the loop 'Writer' ends there as soon as an edge leaves it" in ran.err
    refused = call("import", file, "--to", "councl")
    assert (refused.code, "did you mean 'council'?" in refused.err) == (2, True)


def test_a_graph_goes_to_council_and_runs_from_there_as_it_did(
    tmp_path: Path, call: Callable[..., Ran]
) -> None:
    file, there = ROOT / "examples/09_loop_contract/graph.yaml", tmp_path / "there.json"
    written = call("import", file, "--to", "council", "-o", there)
    assert (written.code, "--compat council" in written.out) == (0, True)
    assert "Council has nothing like 'loops'" in written.err
    options = ("-i", "tea", "--json")
    ran, back = call("run", file, *options), call("run", there, "--compat", "council", *options)
    assert (back.code, back.result["output"]) == (ran.code, ran.result["output"])
    assert back.result["loops"] == ran.result["loops"]
    assert call("run", there, *options).code == 2
    assert "--compat council" in call("run", there).err


def test_a_council_file_can_be_changed_for_a_run(call: Callable[..., Ran]) -> None:
    file = ROOT / "tests/fixtures/council/debate.json"
    options = ("--compat", "council", "--provider", "simulated", "-i", "x", "--json")
    change = ("--set", "graph.nodes.adjudicator.config.seed=7")
    plain, changed = call("run", file, *options), call("run", file, *options, *change)
    assert (plain.code, changed.code) == (0, 0)
    assert plain.result["output"] != changed.result["output"]


def test_a_broken_foreign_file_is_answered_with_its_own_lines(
    tmp_path: Path, call: Callable[..., Ran]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(CASE.replace("max_iterations: 2", "max_iterations: 0"))
    for command in (
        ("import", file, "--from", "chatdev"),
        ("check", file, "--compat", "chatdev"),
        ("run", file, "--compat", "chatdev"),
        ("run", file, "--compat", "chatdev", "--set", "graph.id=other"),
    ):
        ran = call(*command)
        assert ran.code == 2
        assert f"{file}:10 graph.nodes[2].config.max_iterations" in ran.err


def test_council_json_is_imported_and_checked(tmp_path: Path, call: Callable[..., Ran]) -> None:
    native = tmp_path / "optimize.yaml"
    file = ROOT / "tests/fixtures/council/optimize.json"
    assert call("import", file, "--from", "council", "-o", native).code == 0
    score = 'graph.nodes.adjudicator.config.score={"start": 60, "step": 10}'
    answers = ("--answer", "apply") * 4
    result = call("run", native, "-i", "x", "--set", score, *answers, "--json").result
    assert result["loops"][0]["exit_reason"] == "score_threshold_reached"


def test_a_wrong_format_is_refused(tmp_path: Path, call: Callable[..., Ran]) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(CASE)
    ran = call("import", file, "--from", "chatdef")
    assert ran.code == 2
    assert "there is no format 'chatdef'" in ran.err
