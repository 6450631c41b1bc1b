"""The pages in Chinese keep in step with the English ones: same code, headings, tables, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
WANTED = [DOCS / "index.md", DOCS / "tutorial.md", *sorted((DOCS / "concepts").glob("*.md"))]
PAGES = [page for page in WANTED if not page.name.endswith(".zh.md")]
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def skeleton(text: str) -> dict[str, object]:
    """What does not depend on the language a page is written in."""
    blocks = BLOCK.findall(text)
    prose = BLOCK.sub("", text)
    return {
        "code": blocks,
        "headings": [len(level) for level in re.findall(r"^(#+) ", prose, re.MULTILINE)],
        "rows": len(re.findall(r"^\|", prose, re.MULTILINE)),
        "items": len(re.findall(r"^(?:- |\d+\. )", prose, re.MULTILINE)),
        "links": sorted(re.findall(r"\]\(([^)]*)\)", prose)),
        "commands": re.findall(r"^    (\S.*?)(?:\s+#.*)?$", prose, re.MULTILINE),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_in_chinese_says_all_that_the_english_one_does(page: Path) -> None:
    chinese = page.with_name(f"{page.stem}.zh.md")
    assert chinese.exists(), f"{chinese.relative_to(ROOT)} is missing"
    text = chinese.read_text("utf-8")
    assert skeleton(text) == skeleton(page.read_text("utf-8"))
    assert re.search(r"[\u4e00-\u9fff]", text)


def test_the_chinese_readme_shows_the_same_loop_and_leads_to_pages_that_exist() -> None:
    text = (ROOT / "README.zh.md").read_text("utf-8")
    english = (ROOT / "README.md").read_text("utf-8")
    for block in BLOCK.findall(text):
        assert block in english
    held = re.compile(r"^\| .* \| (`tests/.*`) \|$", re.MULTILINE)
    assert held.findall(text) == held.findall(english)
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / link).exists(), link
