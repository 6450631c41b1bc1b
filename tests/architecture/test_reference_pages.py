"""The generated pages are as the code would write them now, and leave nothing out."""

from __future__ import annotations

from build_docs.__main__ import outdated


def test_the_generated_pages_are_up_to_date() -> None:
    assert outdated() == [], "write them anew: python -m build_docs"
