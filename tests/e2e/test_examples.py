"""Every example, run as its README says, ends as its `expected.json` says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rondel.sessions.registry import default_registry
from tests.e2e.command import ROOT, Ran, rondel
from tests.openai_server import OpenAIServer

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*_*"))


def expected(example: Path) -> dict[str, Any]:
    return json.loads((example / "expected.json").read_text("utf-8"))


def graph_of(example: Path) -> str:
    return str((example / expected(example).get("file", "graph.yaml")).relative_to(ROOT))


RUNS = [
    pytest.param(example, run, id=f"{example.name}-{number}")
    for example in EXAMPLES
    for number, run in enumerate(expected(example)["runs"])
]


def check(ran: Ran, run: dict[str, Any]) -> None:
    """It ended as the example says."""
    result = ran.result
    assert ran.code == run["exit_code"], ran.err
    assert result["status"] == run["status"]
    assert len(result["loops"]) == len(run["loops"])
    for loop, wanted in zip(result["loops"], run["loops"], strict=True):
        assert {key: loop[key] for key in wanted} == wanted
    usage = run.get("usage", {})
    assert {key: result["usage"][key] for key in usage} == usage
    if "output" in run:
        assert result["output"] == run["output"]
    for part in run.get("output_contains", []):
        assert part in result["output"]


@pytest.mark.parametrize(("example", "run"), RUNS)
def test_an_example_ends_as_it_says(example: Path, run: dict[str, Any]) -> None:
    given = {"stdin": run.get("stdin", ""), "cwd": ROOT}
    check(rondel("run", graph_of(example), *run["args"], "--json", **given), run)


@pytest.mark.parametrize(("example", "run"), RUNS)
def test_an_example_ends_the_same_in_postgresql(
    example: Path, run: dict[str, Any], call: Callable[..., Ran], database: str
) -> None:
    arguments = [argument for argument in run["args"] if not argument.startswith("--db")]
    given = {"stdin": run.get("stdin", "")}
    ran = call("run", ROOT / graph_of(example), *arguments, "--json", "--db", database, **given)
    check(ran, run)
    session = ran.lines[0]["session_id"]
    assert call("show", session, "--db", database).code == 0
    assert len(call("events", session, "--json", "--db", database).lines) > 1


@pytest.mark.parametrize(("example", "run"), RUNS)
def test_an_example_reads_well_in_a_pipe(
    example: Path, run: dict[str, Any], call: Callable[..., Ran]
) -> None:
    ran = call("run", ROOT / graph_of(example), *run["args"], stdin=run.get("stdin", ""))
    assert ran.code == run["exit_code"]
    assert "\x1b" not in ran.out
    for part in run.get("stdout_contains", []):
        assert part in ran.out
    for part in run.get("stderr_contains", []):
        assert part in ran.err
    for loop in run["loops"]:
        assert re.search(
            rf"^loop +{re.escape(loop['loop'])}: .*{loop['exit_reason']}", ran.out, re.M
        )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_checks_and_tells_how_to_run_it(example: Path, call: Callable[..., Ran]) -> None:
    if expected(example)["runs"]:
        ran = call("check", ROOT / graph_of(example))
        assert (ran.code, ran.err) == (0, "")
    else:
        assert (ROOT / expected(example)["tested_by"]).exists()
    readme = (example / "README.md").read_text("utf-8")
    assert f"rondel run {graph_of(example)}" in readme
    assert "](picture.png)" in readme
    assert 0 < (example / "picture.png").stat().st_size < 150_000


SPEAKING = [
    example for example in EXAMPLES if "role:" in (ROOT / graph_of(example)).read_text("utf-8")
]


@pytest.mark.parametrize("example", SPEAKING, ids=lambda example: example.name)
def test_one_variable_puts_an_example_on_a_real_provider(
    example: Path, call: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked over HTTP by the model that the variable names, and by no other."""
    with OpenAIServer('{"score": 95, "decision": "yes"} I agree. green passed') as server:
        openai = default_registry().config_model("provider", "openai")
        monkeypatch.setattr(openai, "real", replace(openai.real, address=server.url))
        monkeypatch.setenv("OPENAI_API_KEY", "of-this-test")
        monkeypatch.setenv("RONDEL_PROVIDER", "openai:some-model")
        call("run", ROOT / graph_of(example), "-i", "tea", "--db", ":memory:", "--allow-python")
    assert server.bodies
    assert {body["model"] for body in server.bodies} == {"some-model"}
