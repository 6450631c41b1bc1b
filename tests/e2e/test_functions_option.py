"""`--functions`: a folder of functions on the command line, as a user of ChatDev has it."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.command import rondel

FLOW = """\
graph:
  id: flow
  start: [a]
  nodes:
    - {id: a, type: literal, config: {content: a long text}}
    - {id: b, type: passthrough, config: {}}
  edges:
    - {from: a, to: b, condition: is_long, process: {type: function, config: {name: upper}}}
"""


def test_functions_are_missing_without_their_folder_and_run_with_it(tmp_path: Path) -> None:
    for folder, code in (
        ("edge", "def is_long(data): return len(data) > 5"),
        ("edge_processor", "def upper(data, _context): return data.upper()"),
    ):
        (tmp_path / "functions" / folder).mkdir(parents=True)
        (tmp_path / "functions" / folder / "mine.py").write_text(code)
    (tmp_path / "flow.yaml").write_text(FLOW)
    refused = rondel("check", "flow.yaml", "--compat", "chatdev", cwd=tmp_path)
    assert refused.code == 2
    assert refused.err.count("no --functions DIR was given") == 2
    run = ["run", "flow.yaml", "--compat", "chatdev", "-i", "x", "--db", ":memory:"]
    ran = rondel(*run, "--functions", "functions", cwd=tmp_path)
    assert (ran.code, ran.out.strip().splitlines()[-1]) == (0, "A LONG TEXT")
    wrong = rondel(*run, "--functions", "nowhere", cwd=tmp_path)
    assert wrong.code == 2
    assert "nowhere is no folder" in wrong.err
    assert "Traceback" not in wrong.err


def test_a_folder_without_the_function_is_named_beside_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "flow.py").write_text("def is_longer(data): return len(data) > 5")
    (tmp_path / "flow.yaml").write_text(FLOW)
    refused = rondel(
        *("check", "flow.yaml", "--compat", "chatdev", "--functions", "mine"), cwd=tmp_path
    )
    assert refused.code == 2
    assert "no function named 'is_long' in mine; did you mean 'is_longer'?" in refused.err
    assert "no function named 'upper' in mine" in refused.err
