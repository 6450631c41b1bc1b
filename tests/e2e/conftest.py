"""The command line without a process of its own, for the many tests that need none."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from rondel.cli import main
from tests.e2e.command import Ran


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Calls `rondel` in this process."""

    def run(*arguments: str | Path, stdin: str = "") -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def graph_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a graph file."""

    def write(text: str, name: str = "graph.yaml") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    return write
