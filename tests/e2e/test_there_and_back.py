"""Every example goes to ChatDev's format and back, and a run of it is the same event by event.

Python graphs stay behind: they hold functions, which no file can.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import ROOT, Ran

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*_*"))
WRITTEN = [
    example
    for example in EXAMPLES
    if (example / "graph.yaml").exists() and not (example / "pyproject.toml").exists()
]
IN_PYTHON = [example for example in EXAMPLES if (example / "graph.py").exists()]
RUNS = [
    pytest.param(example, run, id=f"{example.name}-{number}")
    for example in WRITTEN
    for number, run in enumerate(json.loads((example / "expected.json").read_text("utf-8"))["runs"])
]
VARIES = ("session_id", "timestamp", "duration")


def _same(value: Any) -> Any:
    """A value without what differs between two runs of one graph."""
    if isinstance(value, dict):
        return {key: _same(inner) for key, inner in value.items() if key not in VARIES}
    return [_same(inner) for inner in value] if isinstance(value, list) else value


def _story(ran: Ran) -> dict[Any, list[Any]]:
    """What was told, by address: steps side by side may end in any order."""
    story: dict[Any, list[Any]] = {}
    for line in ran.lines:
        told = _same(line)
        told.pop("seq", None)
        if told["event"] != "token_stream":
            story.setdefault(line.get("address"), []).append(told)
    return story


@pytest.fixture
def translated(tmp_path: Path, call: Callable[..., Ran]) -> Callable[[Path], tuple[Path, Path]]:
    """An example as ChatDev's file, and as the native file made of that."""

    def translate(example: Path) -> tuple[Path, Path]:
        foreign, native = tmp_path / "foreign.yaml", tmp_path / "native.yaml"
        ran = call("import", example / "graph.yaml", "--to", "chatdev", "-o", foreign)
        assert ran.code == 0, ran.err
        ran = call("import", foreign, "--from", "chatdev", "-o", native)
        assert ran.code == 0, ran.err
        return foreign, native

    return translate


@pytest.mark.parametrize(("example", "run"), RUNS)
def test_an_example_behaves_the_same_after_the_way_to_chatdev_and_back(
    example: Path,
    run: dict[str, Any],
    call: Callable[..., Ran],
    translated: Callable[[Path], tuple[Path, Path]],
) -> None:
    foreign, native = translated(example)

    def told(file: Path, *options: str) -> Ran:
        arguments = ("run", file, *run["args"], *options, "--json", "--db", ":memory:")
        return call(*arguments, stdin=run.get("stdin", ""))

    here = told(example / "graph.yaml")
    for there in (told(native), told(foreign, "--compat", "chatdev")):
        assert there.code == here.code == run["exit_code"]
        assert _story(there) == _story(here)
        assert there.result["loops"] == here.result["loops"]
        assert there.result["output"] == here.result["output"]


@pytest.mark.parametrize("example", WRITTEN, ids=lambda example: example.name)
def test_what_chatdev_will_not_see_of_an_example_is_told_line_by_line(
    example: Path, call: Callable[..., Ran]
) -> None:
    file = example / "graph.yaml"
    ran = call("import", file, "--to", "chatdev")
    checked = call("check", file, "--json").document
    for loop in checked["loops"]:
        assert f"unseen: {file}: the loop {loop['head']!r} ends there" in ran.err
    told = [line for line in ran.err.splitlines() if "the loop" not in line]
    assert all(line.startswith(f"unseen: {file}:") for line in told)
    lines = [int(line.removeprefix(f"unseen: {file}:").split()[0]) for line in told]
    assert lines == sorted(lines)
    assert lines[-1] <= len(file.read_text("utf-8").splitlines())


@pytest.mark.parametrize("example", IN_PYTHON, ids=lambda example: example.name)
def test_a_graph_written_in_python_is_refused(example: Path, call: Callable[..., Ran]) -> None:
    ran = call("import", example / "graph.py", "--to", "chatdev")
    assert (ran.code, ran.out) == (2, "")
    assert "no file can hold the functions of a graph written in Python" in ran.err


def test_only_the_python_example_is_not_a_file() -> None:
    assert [example.name for example in IN_PYTHON] == ["05_python_graph"]
