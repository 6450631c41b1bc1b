"""The same engine as plain Python: what the compiled one is compared with, and counted in."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import rondel

ROOT = Path(__file__).parents[1]
PACKAGE = Path(rondel.__file__).parent


def compiled_forms() -> dict[Path, Path]:
    """The sources of the package under test that this Python runs compiled, and their libraries."""
    beside = {
        source: source.with_name(source.stem + EXTENSION_SUFFIXES[0])
        for source in PACKAGE.rglob("*.py")
    }
    return {source: library for source, library in beside.items() if library.exists()}


def outdated() -> list[Path]:
    """The sources that were edited after they were compiled."""
    return sorted(
        source
        for source, library in compiled_forms().items()
        if source.stat().st_mtime > library.stat().st_mtime
    )


def run_plain(*arguments: str) -> str:
    """What Python prints, given these arguments, if nothing of Rondel is compiled."""
    return _run(plain_copy(), arguments)


def run_as_it_is(*arguments: str) -> str:
    """What Python prints, given these arguments, with the package under test."""
    return _run(PACKAGE.parent, arguments)


def _run(folder: Path, arguments: tuple[str, ...]) -> str:
    path = os.pathsep.join((str(folder), str(ROOT)))
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def plain_copy() -> Path:
    """A folder with the package under test in it, without its compiled modules."""
    folder = tempfile.TemporaryDirectory(prefix="rondel-plain-")
    _KEPT.append(folder)
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(PACKAGE, Path(folder.name, "rondel"), ignore=ignored)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
"""Removed when the process ends."""
