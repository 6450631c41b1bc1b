"""The pages in Chinese keep in step with the English ones: same code, headings, tables, links."""

from __future__ import annotations

import re
from collections import Counter
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
        "names": Counter(re.findall(r"`([^`\n]+)`", prose)),
        "sentences": [sentences(part) for part in re.split(r"\n\s*\n", prose) if part.strip()],
    }


def sentences(part: str) -> int:
    """How many sentences a paragraph, a list or a table has."""
    plain = re.sub(r"\]\([^)]*\)", "", re.sub(r"`[^`]*`", "x", part))
    return len(re.findall(r"[.!?](?=\s|$|\*|\))|[。！？]", plain))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_in_chinese_says_all_that_the_english_one_does(page: Path) -> None:
    chinese = page.with_name(f"{page.stem}.zh.md")
    assert chinese.exists(), f"{chinese.relative_to(ROOT)} is missing"
    text = chinese.read_text("utf-8")
    assert skeleton(text) == skeleton(page.read_text("utf-8"))
    assert re.search(r"[\u4e00-\u9fff]", text)


def test_the_chinese_readme_says_all_that_the_english_one_does_and_leads_to_chinese_pages() -> None:
    text = (ROOT / "README.zh.md").read_text("utf-8")
    english = (ROOT / "README.md").read_text("utf-8")
    assert same_in_every_language(text) == same_in_every_language(english)
    held = re.compile(r"^\| .* \| (`tests/.*`) \|$", re.MULTILINE)
    assert held.findall(text) == held.findall(english)
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / link).exists(), link
        chinese = (ROOT / link).with_suffix(".zh.md")
        assert link == "README.md" or not chinese.exists() or link == f"{chinese}", link


def same_in_every_language(text: str) -> dict[str, object]:
    """The skeleton of a page that shows Chinese pictures and leads to Chinese pages."""
    found = skeleton(
        re.sub(r"(\w)\.zh\.md", r"\1.md", re.sub(r"-(?:en|zh)-\w+\.png", ".png", text))
    )
    commands = re.findall(r"^    (\S.*?)(?:  +.*)?$", BLOCK.sub("", text), re.MULTILINE)
    return {**found, "commands": commands}


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_a_sentence_that_nobody_translated_is_found(page: Path) -> None:
    """Whichever it is: each is taken away in turn."""
    text = page.with_name(f"{page.stem}.zh.md").read_text("utf-8")
    whole = same_in_every_language(text)
    prose = BLOCK.sub(lambda block: " " * len(block[0]), text)
    for sentence in re.finditer(r"[^\n。！？|]+[。！？]", prose):
        without = text[: sentence.start()] + text[sentence.end() :]
        assert same_in_every_language(without) != whole, sentence[0]
