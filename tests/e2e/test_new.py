"""`rondel new` and `rondel schema`: what one starts a graph from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from rondel.sessions.templates import templates
from tests.e2e.command import ROOT, Ran

PLUGIN = "18_plugin"
"""An example with a node type of a package that is not installed here."""

Call = Callable[..., Ran]

ANSWERS = {"human": ["--answer", "revise: shorter", "--answer", "approve"]}


@pytest.mark.parametrize("template", templates())
def test_a_template_passes_the_check_and_runs(
    template: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("new", template).code == 0
    file = tmp_path / f"{template}.yaml"
    assert file.read_text("utf-8").startswith("# ")
    checked = call("check", file)
    assert (checked.code, checked.err) == (0, "")
    ran = call("run", file, "-i", "tea", *ANSWERS.get(template, []))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("simulated models: no key, no network")


def test_new_lists_the_templates(call: Call) -> None:
    ran = call("new")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[:4]] == list(templates())
    assert list(templates()) == ["debate", "human", "review", "score"]


def test_new_overwrites_nothing_unless_told_to(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")
    refused = call("new", "review", "-o", file)
    assert (refused.code, refused.out) == (2, "")
    assert f"{file} exists already; use --force" in refused.err
    assert file.read_text() == "mine"
    assert call("new", "review", "-o", file, "--force").code == 0
    assert file.read_text("utf-8") == templates()["review"].read_text("utf-8")


def test_new_prints_to_standard_output(call: Call) -> None:
    assert call("new", "score", "-o", "-").out == templates()["score"].read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["revue"], "there is no template 'revue'; did you mean 'review'?"),
        (["review", "-o", "/nowhere/at/all.yaml"], "/nowhere/at/all.yaml cannot be written: "),
    ],
)
def test_new_says_what_is_wrong(arguments: list[str], message: str, call: Call) -> None:
    ran = call("new", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_the_schema_accepts_every_template_and_example(call: Call) -> None:
    ran = call("schema")
    assert ran.code == 0
    validator = jsonschema.Draft202012Validator(json.loads(ran.out))
    files = [path for path in ROOT.glob("examples/*/graph.yaml") if path.parent.name != PLUGIN]
    examples = [path.read_text("utf-8") for path in files]
    for text in [*examples, *(file.read_text("utf-8") for file in templates().values())]:
        validator.validate(yaml.safe_load(text))
