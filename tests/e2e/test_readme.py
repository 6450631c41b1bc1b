"""The commands of all pages are run, and they print what is shown there.

`RONDEL_UPDATE_README=1 pytest tests/e2e/test_readme.py` writes down what they print now. Ids of
sessions are new each time: those on a page stand for the real ones, in its commands too.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import environment as environments
from benchmarks.contender import Contender
from tests.e2e.command import BIN, ROOT, environment

README = ROOT / "README.md"
DOCS = ROOT / "docs"
GUIDES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if "```console" in page.read_text("utf-8") and not page.name.endswith(".zh.md")
]
"""Every page with a command on it; those in Chinese have the same ones, which a test holds."""
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(\$ .*?\n)(.*?)```", re.DOTALL)
SESSION = re.compile(r"\b[0-9a-f]{16}\b")
VARIES = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d|\b\d+\.\ds\b")
ENVIRONMENT = re.compile(r"<!-- environment: (.+) -->")
"""What a page about another engine needs beside Rondel; its `python` has that installed."""
TESTS = re.compile(r"`(tests/[\w/.]+)`")


def printed(command: str, folder: Path, **more: str) -> str:
    """Everything that a command prints, in the order it comes."""
    finished = subprocess.run(
        ["bash", "-c", command],
        check=False,
        cwd=folder,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return finished.stdout.decode()


def lasting(output: str) -> str:
    """What every run prints, whatever the time and however wide a column of times is."""
    return re.sub(" +", " ", VARIES.sub("", output))


def with_another_engine(requirements: list[str], home: Path) -> dict[str, str]:
    """The variables of a shell in which `python` is that of another engine."""
    engine = Contender(requirements[0], requirements[0], requirements[0], tuple(requirements))
    environments.make(engine)
    path = os.pathsep.join([str(environments.python_of(engine).parent), environment()["PATH"]])
    return {
        "PATH": path,
        "HOME": str(home),
        "CREWAI_STORAGE_DIR": str(home / "kept"),
        "CREWAI_DISABLE_TELEMETRY": "true",
        "OTEL_SDK_DISABLED": "true",
    }


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Make as a person calls it, also where the tests themselves run under make."""
    command = ["make", *arguments]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(command, check=False, cwd=ROOT, env=env, capture_output=True, text=True)


def in_chinese(page: Path, text: str) -> None:
    """Show the same in the page's Chinese version, command by command."""
    chinese = page.with_name(f"{page.stem}.zh.md")
    if chinese.exists():
        printed = {found[1]: found[0] for found in CONSOLE.finditer(text)}
        now = chinese.read_text("utf-8")
        same = CONSOLE.sub(lambda found: printed.get(found[1], found[0]), now)
        chinese.write_text(same, "utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def as_parameter(page: Path) -> Any:
    """The page; one about another engine has the time that installing that takes."""
    slow = ENVIRONMENT.search(page.read_text("utf-8"))
    marks = [pytest.mark.timeout(environments.INSTALL_LIMIT + 300)] if slow else []
    return pytest.param(page, id=name_of(page), marks=marks)


@pytest.mark.parametrize("page", [as_parameter(page) for page in (README, *GUIDES)])
def test_a_page_shows_what_its_commands_print(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text = page.read_text("utf-8")
    more = {}
    if "$DATABASE_URL" in text:
        more["DATABASE_URL"] = request.getfixturevalue("database")
    if needed := ENVIRONMENT.search(text):
        more |= with_another_engine(needed[1].split(), tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, content in FILE.findall(text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
    sessions: dict[str, str] = {}

    def real(found: re.Match[str]) -> str:
        command = SESSION.sub(lambda shown: sessions.get(shown[0], shown[0]), found[1])
        output = printed(command[2:], tmp_path, **more)
        for shown, new in zip(SESSION.findall(found[2]), SESSION.findall(output), strict=False):
            sessions.setdefault(shown, new)
        known = {new: shown for shown, new in sessions.items()}
        output = SESSION.sub(lambda new: known.get(new[0], new[0]), output)
        same = lasting(output) == lasting(found[2])
        return found[0] if same else f"```console\n{found[1]}{output}```"

    updated = CONSOLE.sub(real, text)
    if os.environ.get("RONDEL_UPDATE_README"):
        page.write_text(updated, "utf-8")
        in_chinese(page, updated)
        return
    assert updated == text
    assert page != README or len(CONSOLE.findall(text)) >= 6


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
