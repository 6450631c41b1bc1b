"""What is installed from a wheel has the pages in it, and needs neither Node nor a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import check_wheel
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "01_review_loop" / "graph.yaml"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of plain Python."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    built = subprocess.run(
        [*pip, "--wheel-dir", str(folder), str(ROOT)],
        env={**os.environ, "RONDEL_COMPILE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_carries_all_of_the_package_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        assert [*check_wheel.problems(archive)] == []
        assert not check_wheel.is_compiled(archive)
        names = archive.namelist()
    assert any(name.startswith("rondel/server/pages/assets/") for name in names)
    assert "rondel/journal/sqlite/migrations/0001_initial.sql" in names
    assert "rondel/cli/languages/zh/cli.json" in names
    assert "rondel/py.typed" in names


def test_what_is_missing_or_too_much_is_told(wheel: Path, tmp_path: Path) -> None:
    broken = tmp_path / wheel.name
    with ZipFile(wheel) as archive, ZipFile(broken, "w") as copy:
        for name in archive.namelist():
            if not name.startswith(("rondel/server/pages/assets/", "rondel/errors.py")):
                copy.writestr(name, archive.read(name))
        copy.writestr("tests/test_left.py", str(ROOT))
    with ZipFile(broken) as archive:
        told = "\n".join(check_wheel.problems(archive))
    assert "rondel/errors.py is missing" in told
    assert "which index.html names, is missing" in told
    assert "tests is not of the package" in told
    assert "has the path of this machine in it" in told


def test_it_installs_and_runs_where_there_is_neither_node_nor_a_compiler(
    wheel: Path, tmp_path: Path
) -> None:
    place = tmp_path / "installed"
    bare = {"PATH": "", "HOME": str(tmp_path)}
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place)]
    subprocess.run([*pip, str(wheel)], env=bare, check=True, capture_output=True)
    ran = subprocess.run(
        [sys.executable, "-m", "rondel", "run", str(EXAMPLE), "--db", ":memory:"],
        env={**bare, "PYTHONPATH": str(place)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "score_threshold_reached" in ran.stdout
