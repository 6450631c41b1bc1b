"""A shell completes commands, options and sessions; files are the shell's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import graphs
from tests.e2e.command import Ran, environment

Call = Callable[..., Ran]

LINE = """
source <(rondel completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _rondel; printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words: str) -> list[str]:
    """What bash makes of the last of these words."""
    ran = subprocess.run(
        ["bash", "-c", LINE, "bash", "rondel", *words],
        capture_output=True,
        text=True,
        check=True,
        env=environment(RONDEL_DB=os.environ["RONDEL_DB"]),
    )
    return ran.stdout.split()


def test_bash_completes_commands_options_and_sessions(
    call: Call, graph_file: Callable[..., Path]
) -> None:
    session = call("run", graph_file(graphs.LOOP), "--json").result["session_id"]
    assert completed("re") == ["resume", "replay", "repair"]
    assert "--allow-python" in completed("run", "--al")
    assert completed("show", session[:4]) == [session]
    assert completed("run", "gra") == []
    assert completed("shwo", "x") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script(call: Call, shell: str) -> None:
    ran = call("completion", shell)
    assert ran.code == 0
    assert "RONDEL_COMPLETE" in ran.out


def test_another_shell_is_told_which_there_are(call: Call) -> None:
    ran = call("completion", "tcsh")
    assert ran.code == 2
    assert "bash" in ran.err
    assert "fish" in ran.err


def test_a_database_that_is_not_there_offers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDEL_DB", "/nowhere/at/all.db")
    assert completed("show", "") == []
