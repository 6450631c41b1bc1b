"""The site builds without a warning, in both languages, and fetches nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def test_the_site_builds_with_every_page_and_no_broken_link(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    pages = [page.relative_to(DOCS) for page in DOCS.rglob("*.md") if ".zh." not in page.name]
    for page in pages:
        place = page.parent if page.name == "index.md" else page.with_suffix("")
        for language in ("", "zh"):
            assert (tmp_path / language / place / "index.html").exists(), (language, page)
    home = (tmp_path / "index.html").read_text("utf-8")
    assert re.findall(r"(?:src|href)=\"https?://[^\"]*\.(?:js|css|woff2?)", home) == []
    assert '<html lang="zh"' in (tmp_path / "zh" / "index.html").read_text("utf-8").replace(
        "'", '"'
    )
