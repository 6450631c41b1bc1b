"""What `import rondel` gives, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rondel

NAMES = [
    "NOTHING",
    "Context",
    "Emit",
    "Engine",
    "Event",
    "Graph",
    "GraphError",
    "Handler",
    "Lock",
    "Message",
    "Middleware",
    "Nothing",
    "Outcome",
    "Processor",
    "Question",
    "Registry",
    "Result",
    "RondelError",
    "Router",
    "Session",
    "Suspend",
    "Usage",
    "Verdict",
    "builtin_registry",
    "run",
]
HEAVY = ("typer", "rich", "cel", "genai_prices", "yaml", "pydantic_ai", "fastapi", "pydantic")


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(rondel.__all__) == sorted(NAMES)


def test_there_are_at_most_25_public_names_each_once() -> None:
    assert len(rondel.__all__) <= 25
    assert len(set(rondel.__all__)) == len(rondel.__all__)


@pytest.mark.parametrize("name", rondel.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(rondel, name) is not None
    assert name in dir(rondel)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        rondel.nonsense  # noqa: B018


def loaded(code: str) -> set[str]:
    """The modules that are loaded after some code, in a fresh interpreter."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_importing_rondel_loads_nothing_heavy() -> None:
    assert loaded("import rondel") & set(HEAVY) == set()


def test_a_graph_of_functions_runs_without_what_it_does_not_use() -> None:
    code = """
import rondel
graph = rondel.Graph("g")
graph.node(id="a")(lambda inp: "x")
assert rondel.run(graph).output == "x"
"""
    needless = {"typer", "rich", "genai_prices", "pydantic_ai", "fastapi", "cel"}
    assert loaded(code) & needless == set()


def test_the_public_names_are_typed_as_they_are_loaded() -> None:
    """`from rondel import *` works, and brings nothing else."""
    code = "before = set(dir())\nfrom rondel import *\nprint(sorted(set(dir()) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    got = set(done.stdout.strip().strip("[]").replace("'", "").split(", ")) - {"before"}
    assert got == set(NAMES)
