"""What is installed from a wheel has the pages in it, and needs neither Node nor a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]


def test_the_wheel_carries_the_pages(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    built = subprocess.run(
        [*pip, "--wheel-dir", str(tmp_path), str(ROOT)],
        env={**os.environ, "RONDEL_COMPILE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = ZipFile(wheel).namelist()
    assert "rondel/server/pages/index.html" in names
    assert any(name.startswith("rondel/server/pages/assets/") for name in names)
    assert "rondel/journal/migrations/0001_initial.sql" in names
