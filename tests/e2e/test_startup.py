"""`rondel --help` is there at once: it imports nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version

import pytest

import rondel
from tests.e2e.command import Ran

HEAVY = {"typer", "rich", "pydantic", "yaml", "msgspec", "asyncio", "cel", "genai_prices"}


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(argument: str) -> None:
    script = (
        "import sys; from rondel.cli import main; code = main([sys.argv[1]]); "
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr); "
        "sys.exit(code)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, argument], check=True, capture_output=True, text=True
    )
    assert not HEAVY & set(eval(finished.stderr))


def test_import_rondel_imports_nothing_heavy() -> None:
    script = "import sys, rondel; print(sorted(name.partition('.')[0] for name in sys.modules))"
    finished = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert not HEAVY & set(eval(finished.stdout))


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
