"""The shape of the house: who imports whom, how long a file is, what the engine knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

from rondel.sessions.registry import builtin_registry

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "rondel"
MODULES = sorted(SOURCE.rglob("*.py"))
ENGINE = sorted((SOURCE / "engine").rglob("*.py"))

BUSINESS = {
    "should_exit",
    "exit_reason",
    "current_round",
    "loop_counter",
    "loop_timer",
    "debate",
    "vote",
    "agent",
    "passthrough",
    "literal",
    "human",
    "iteration",
}
"""Fields and node types that the engine must not know."""

ORDINARY = {"loop", "function"}
"""Node types whose names are words the engine needs for what it is about."""

MAX_LINES = 500


def relative(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def test_the_engine_names_no_node_type_and_no_business_field() -> None:
    types = set(builtin_registry().names("node")) - ORDINARY
    assert {"agent", "human", "loop_counter"} <= types
    forbidden = re.compile(rf"\b({'|'.join(sorted(BUSINESS | types))})\b", re.IGNORECASE)
    found = [
        f"{relative(path)}:{number}: {match[0]}"
        for path in ENGINE
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in forbidden.finditer(line)
    ]
    assert not found, found


def test_the_engine_compares_no_node_type() -> None:
    """Also `loop` and `function`: no text in the engine is the name of a node type."""
    types = set(builtin_registry().names("node"))
    found = [
        f"{relative(path)}:{node.lineno}: {node.value!r}"
        for path in ENGINE
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in types
    ]
    kinds = [where for where in found if where.startswith("engine/registry.py")]
    assert not set(found) - set(kinds), found


def test_no_file_is_too_long_to_read() -> None:
    lines = {relative(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    too_long = {path: count for path, count in lines.items() if count > MAX_LINES}
    assert not too_long


def test_every_module_says_what_it_is() -> None:
    """An empty `__init__` only makes a package of a directory; anything else has a docstring."""
    missing = [
        relative(path)
        for path in MODULES
        if (text := path.read_text("utf-8")).strip() and not ast.get_docstring(ast.parse(text))
    ]
    assert not missing


def test_imports_go_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    assert linter.exists(), "import-linter is missing; make install brings it"
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_room_is_called_by_what_it_is_not() -> None:
    """`utils`, `helpers`, `manager`: the noun instead."""
    vague = re.compile(r"(^|_)(utils?|helpers?|managers?|misc|common)(_|$)")
    assert not [relative(p) for p in MODULES if vague.search(p.stem) or vague.search(p.parent.name)]
