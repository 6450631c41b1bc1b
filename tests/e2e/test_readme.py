"""The README's commands are run, and they print what it shows.

`RONDEL_UPDATE_README=1 pytest tests/e2e/test_readme.py` writes down what they print now.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.e2e.command import BIN, ROOT, environment

README = ROOT / "README.md"
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(\$ .*?\n)(.*?)```", re.DOTALL)
TESTS = re.compile(r"`(tests/[\w/.]+)`")


def printed(command: str, folder: Path) -> str:
    """Everything that a command prints, in the order it comes."""
    finished = subprocess.run(
        ["bash", "-c", command],
        check=False,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    return finished.stdout.decode()


SESSION = re.compile(r"\b[0-9a-f]{16}\b")
"""The id of a session: another one every time."""


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Make as a person calls it, also where the tests themselves run under make."""
    command = ["make", *arguments]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        command, check=False, cwd=ROOT, env=env, capture_output=True, text=True, timeout=110
    )


def test_the_readme_shows_what_its_commands_print(tmp_path: Path) -> None:
    readme = README.read_text("utf-8")
    for name, text in FILE.findall(readme):
        (tmp_path / name).write_text(text, "utf-8")

    def real(found: re.Match[str]) -> str:
        return f"```console\n{found[1]}{printed(found[1][2:], tmp_path)}```"

    updated = CONSOLE.sub(real, readme)
    if os.environ.get("RONDEL_UPDATE_README"):
        README.write_text(updated, "utf-8")
        return
    assert SESSION.sub("ID", updated) == SESSION.sub("ID", readme)
    assert len(CONSOLE.findall(readme)) >= 4


def test_every_guarantee_names_a_test_that_exists() -> None:
    named = TESTS.findall(README.read_text("utf-8"))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_make_run_shows_a_loop_and_what_to_try_next() -> None:
    assert make("install").returncode == 0
    finished = make("run")
    assert finished.returncode == 0
    assert finished.stdout.startswith("simulated models: no key, no network")
    assert "score_threshold_reached" in finished.stdout
    assert "Try next:" in finished.stdout
    tried = re.findall(r"^  \S*rondel (\w+) ?(\S*)", finished.stdout, re.MULTILINE)
    assert {verb for verb, _ in tried} <= {"run", "check", "new"}
    assert all((ROOT / file).exists() for _, file in tried if "/" in file)
    assert (BIN / "rondel").exists()
