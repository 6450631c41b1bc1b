"""What people bring along: foreign files as they are, tasks with an equals sign, paths, options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from rondel import Graph, run
from rondel.sessions.registry import default_registry
from tests.e2e.command import Ran
from tests.e2e.graphs import LOOP

Call = Callable[..., Ran]
GraphFile = Callable[..., Path]

CHATDEV = """
version: 0.4.0
vars: {BASE: "${GATEWAY_URL}"}
graph:
  id: shout
  log_level: INFO
  start: [Writer]
  nodes:
    - id: Writer
      type: agent
      config: {provider: openai, name: gpt-4o, base_url: "${BASE}", api_key: "${API_KEY}"}
    - {id: Done, type: passthrough, config: {}}
  edges:
    - {from: Writer, to: Done}
"""

FUNCTIONS = """
graph:
  id: by_functions
  start: [Say]
  nodes:
    - {id: Say, type: literal, config: {content: ready}}
    - {id: Done, type: passthrough, config: {}}
  edges:
    - from: Say
      to: Done
      condition: {type: function, config: {name: is_ready}}
      process: {type: function, config: {name: shout}}
"""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "GATEWAY_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


# Foreign files


def test_functions_of_a_chatdev_graph_get_the_text_of_the_message(tmp_path: Path) -> None:
    def is_ready(data: str) -> bool:
        return data.lower().startswith("ready")

    def shout(payload: str) -> str:
        return payload.upper()

    registry = default_registry()
    registry.function("is_ready", is_ready)
    registry.function("shout", shout)
    file = tmp_path / "chatdev.yaml"
    file.write_text(FUNCTIONS, "utf-8")
    graph = Graph.load(file, compat="chatdev", registry=registry)
    assert run(graph).output == "READY"


def test_a_graph_is_checked_and_translated_without_the_keys_it_names(
    call: Call, graph_file: GraphFile
) -> None:
    file = graph_file(CHATDEV)
    checked = call("check", file, "--compat", "chatdev")
    assert checked.code == 0
    assert "the variable 'API_KEY' is not set; a run needs it" in checked.err
    imported = call("import", file, "--from", "chatdev")
    assert imported.code == 0
    document = yaml.safe_load(imported.out)
    assert document["vars"] == {"BASE": "${GATEWAY_URL}"}
    assert document["graph"]["nodes"][0]["config"]["api_key"] == "${API_KEY}"
    run = call("run", file, "--compat", "chatdev", "--db", ":memory:")
    assert run.code == 2
    assert "the variable 'API_KEY' is not set" in run.err


def test_a_check_still_finds_what_is_not_set_and_no_secret(
    call: Call, graph_file: GraphFile
) -> None:
    text = LOOP.replace("max_rounds: 3", "max_rounds: '${ROUNDS}'")
    ran = call("check", graph_file(text))
    assert ran.code == 2
    assert "the variable 'ROUNDS' is not set" in ran.err


@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_chatdev_file_is_recognised(verb: str, call: Call, graph_file: GraphFile) -> None:
    file = graph_file(CHATDEV)
    ran = call(verb, file)
    assert ran.code == 2
    assert ran.err == (
        f"error: {file}: this is a graph of ChatDev; add --compat chatdev, or translate it: "
        f"rondel import {file} --from chatdev\n"
    )


def test_a_council_file_is_recognised(call: Call) -> None:
    file = Path(__file__).parents[1] / "fixtures/council/optimize.json"
    ran = call("check", file)
    assert ran.code == 2
    assert "this is a graph of Council; add --compat council" in ran.err
    assert ran.err.count("\n") == 1


# Inputs


@pytest.mark.parametrize(
    ("options", "inputs"),
    [
        (["-i", "E=mc2, explain"], {"task": "E=mc2, explain"}),
        (["-i", "topic=tea"], {"topic": "tea"}),
        (["-i", "topic=green tea"], {"topic": "green tea"}),
        (["-i", "n=3"], {"n": 3}),
        (["-i", "a==b is what?"], {"task": "a==b is what?"}),
        (["-i", "task=n=3 is it"], {"task": "n=3 is it"}),
        (["--input-json", '{"n": "a b"}'], {"n": "a b"}),
        (["-i", "hello", "--input-json", '{"n": 1}'], {"task": "hello", "n": 1}),
        (["-i", "hello", "--set", "inputs.n=1"], {"task": "hello", "n": 1}),
    ],
)
def test_what_an_input_means(
    options: list[str], inputs: dict[str, object], call: Call, graph_file: GraphFile, tmp_path: Path
) -> None:
    db = tmp_path / "s.db"
    assert call("run", graph_file(LOOP), *options, "--db", db).code == 0
    rows = call("sessions", "--db", db, "--json").document["sessions"]
    assert rows[0]["inputs"] == inputs


@pytest.mark.parametrize(
    "options",
    [["--input-json", "[1]"], ["--input-json", "{"], ["-i", "hi", "--input-json", '{"task": 1}']],
)
def test_inputs_that_cannot_be_meant(options: list[str], call: Call, graph_file: GraphFile) -> None:
    ran = call("run", graph_file(LOOP), *options, "--db", ":memory:")
    assert (ran.code, ran.err.count("\n")) == (2, 1)


# --set and --compat


@pytest.mark.parametrize("graph", ["", "graph."])
@pytest.mark.parametrize("node", ["nodes.Gate.config", 'nodes["Gate"].config'])
def test_paths_are_the_same_everywhere(
    graph: str, node: str, call: Call, graph_file: GraphFile, tmp_path: Path
) -> None:
    file, db = graph_file(LOOP), tmp_path / "s.db"
    change = ("--set", f"{graph}{node}.max_rounds=1")
    checked = call("check", file, *change, "--json").document
    assert checked["loops"][0]["max_rounds"] == 1
    assert (
        json.loads(call("simulate", file, "-n", "3", *change, "--json").out)["loops"][0]["rounds"][
            "max"
        ]
        == 1
    )
    estimated = json.loads(call("estimate", file, *change, "--json").out)
    assert estimated["worst_case"]["model_calls"] == 2
    ran = call("run", file, *change, "--json", "--db", db)
    assert ran.result["loops"][0]["rounds"] == 1
    whole = call("run", file, "--json", "--db", db)
    assert whole.result["loops"][0]["rounds"] == 2
    id = whole.lines[0]["session_id"]
    forked = call("fork", id, "--at", "Writer[1]", *change, "--json", "--db", db)
    assert forked.result["loops"][0]["rounds"] == 1


@pytest.mark.parametrize("verb", [["estimate"], ["simulate", "-n", "2"], ["check"]])
def test_a_foreign_file_is_looked_at_as_it_is(
    verb: list[str], call: Call, graph_file: GraphFile
) -> None:
    assert call(*verb, graph_file(CHATDEV), "--compat", "chatdev").code == 0


# Databases


@pytest.mark.parametrize(
    "words",
    [
        ["sessions"],
        ["show", "abcd"],
        ["rounds", "abcd"],
        ["events", "abcd"],
        ["replay", "abcd"],
        ["memory", "list"],
        ["export", "abcd"],
        ["gc"],
    ],
)
def test_a_mistyped_database_is_not_created(words: list[str], call: Call, tmp_path: Path) -> None:
    db = tmp_path / "typo.db"
    ran = call(*words, "--db", db)
    assert (ran.code, ran.err) == (2, f"error: there is no database {db}\n")
    assert not list(tmp_path.iterdir())


def test_an_estimate_of_a_mistyped_database_too(
    call: Call, graph_file: GraphFile, tmp_path: Path
) -> None:
    ran = call("estimate", graph_file(LOOP), "--db", tmp_path / "typo.db")
    assert (ran.code, (tmp_path / "typo.db").exists()) == (2, False)
