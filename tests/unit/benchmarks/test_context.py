"""The tables of the guide's page on context are what the benchmark prints."""

from __future__ import annotations

from pathlib import Path

from benchmarks import context

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "context.md"


def test_the_page_shows_what_twenty_rounds_take() -> None:
    found = {name: context.measured(name) for name in context.SETTINGS}
    page = PAGE.read_text("utf-8")
    assert context.totals(found) in page
    assert context.rounds(found) in page
    begins = found["recall: {own: 1}"].sent[1].prefix
    for name, provider in found.items():
        kept = min(each.prefix for each in provider.sent[1:])
        assert kept >= begins, f"{name} loses the task"
