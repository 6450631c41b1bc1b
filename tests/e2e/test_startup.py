"""A command imports what it uses and nothing else, so that it is there at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

import rondel
from tests.e2e.command import Ran

PROVIDERS = {"pydantic_ai", "openai", "anthropic", "google", "genai_prices", "mcp", "mcp_types"}
WEB = {"fastapi", "starlette", "uvicorn", "httpx", "httpx2", "aiohttp", "requests"}
DATABASES = {"sqlite3", "psycopg", "asyncpg"}
FOREIGN = PROVIDERS | WEB | DATABASES
HEAVY = FOREIGN | {"typer", "rich", "pydantic", "yaml", "msgspec", "asyncio", "cel"}

LITERAL = """
graph:
  id: hello
  nodes:
    - {id: a, type: literal, config: {content: hi}}
    - {id: b, type: passthrough}
  edges:
    - {from: a, to: b}
"""
SCRIPTED = """
graph:
  id: talk
  start: [a]
  end: [b]
  nodes:
    - {id: a, type: agent, config: {provider: scripted, answers: [no, yes]}}
    - {id: b, type: passthrough}
  edges:
    - {from: a, to: a, condition: {type: keyword, config: {any: ["no"]}}}
    - {from: a, to: b, condition: {type: keyword, config: {any: ["yes"]}}}
"""

SCRIPT = """
import json, sys
from rondel.cli import main
code = main(sys.argv[2:])
open(sys.argv[1], "w").write(json.dumps(list(sys.modules)))
sys.exit(code)
"""


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., set[str]]:
    """Which modules a command has imported when it ends, in a process of its own."""

    def run(*arguments: str) -> set[str]:
        listed = tmp_path / "modules.json"
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(listed), *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return set(json.loads(listed.read_text()))

    return run


@pytest.fixture
def graphs(tmp_path: Path) -> dict[str, str]:
    """A graph of plain nodes, and one with an agent."""
    files = {"literal": LITERAL, "scripted": SCRIPTED}
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return {name: str(tmp_path / f"{name}.yaml") for name in files}


def libraries(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(
    argument: str, imported: Callable[..., set[str]]
) -> None:
    assert not HEAVY & libraries(imported(argument))


def test_import_rondel_imports_nothing_heavy() -> None:
    script = "import json, sys, rondel; print(json.dumps(list(sys.modules)))"
    finished = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60
    )
    modules = set(json.loads(finished.stdout))
    assert not HEAVY & libraries(modules)
    assert {name for name in modules if name.startswith("rondel")} == {"rondel"}


def test_check_imports_neither_an_event_loop_nor_the_nodes_that_a_graph_does_not_use(
    imported: Callable[..., set[str]], graphs: dict[str, str]
) -> None:
    modules = imported("check", graphs["literal"])
    assert not (FOREIGN | {"asyncio", "rich", "cel"}) & libraries(modules)
    used = {"awaiting", "calling", "literal", "passthrough"}
    assert {name for name in modules if name.startswith("rondel.nodes.")} == {
        f"rondel.nodes.{name}" for name in used
    }
    assert not {"rondel.formats", "rondel.journal", "rondel.sessions.engine"} & modules


def test_check_of_an_agent_imports_no_provider_and_no_database(
    imported: Callable[..., set[str]], graphs: dict[str, str]
) -> None:
    modules = imported("check", graphs["scripted"])
    assert not (FOREIGN | {"cel"}) & libraries(modules)
    assert "rondel.nodes.debate" not in modules


@pytest.mark.parametrize("graph", ["literal", "scripted"])
def test_a_run_in_memory_imports_no_database_and_no_provider(
    graph: str, imported: Callable[..., set[str]], graphs: dict[str, str]
) -> None:
    modules = imported("run", graphs[graph], "-i", "x", "--db", ":memory:")
    assert not (FOREIGN | {"cel"}) & libraries(modules)


def test_a_run_that_is_kept_imports_only_the_database_it_is_kept_in(
    imported: Callable[..., set[str]], graphs: dict[str, str], tmp_path: Path
) -> None:
    kept = str(tmp_path / "sessions.db")
    modules = imported("run", graphs["scripted"], "-i", "x", "--db", kept)
    assert FOREIGN & libraries(modules) == {"sqlite3"}
    listed = imported("sessions", "--db", kept)
    assert FOREIGN & libraries(listed) == {"sqlite3"}
    assert "rondel.nodes.agent" not in listed


def test_every_public_name_is_there() -> None:
    assert all(getattr(rondel, name) is not None for name in rondel.__all__)
    assert set(rondel.__all__) <= set(dir(rondel))
    assert len(rondel.__all__) <= 25
    with pytest.raises(AttributeError, match="'rondel' has no attribute 'nope'"):
        _ = rondel.nope  # type: ignore[attr-defined]


def test_help_and_version_say_what_they_should(call: Callable[..., Ran]) -> None:
    for arguments in ([], ["--help"], ["-h"], ["help"]):
        ran = call(*arguments)
        assert ran.code == 0
        assert all(f"\n  {verb} " in ran.out for verb in ("run", "check", "new", "schema"))
    assert call("--version").out == f"rondel {version('rondel')}\n"
    helped = call("run", "--help")
    assert helped.code == 0
    assert "--answer" in helped.out


def test_the_package_is_the_command_too() -> None:
    command = [sys.executable, "-m", "rondel", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert version("rondel") in ran.stdout
