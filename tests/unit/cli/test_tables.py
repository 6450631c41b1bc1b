"""Tables, times and shortened texts as people read them."""

from __future__ import annotations

import pytest

from rondel.cli.cells import short
from rondel.cli.tables import length, print_table


def test_columns_are_aligned_whatever_the_letters(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "N", "NOTE"), [("茶", "1", "x"), ("coffee\nblack", "20", "")], right="N")
    assert capsys.readouterr().out.splitlines() == [
        "NAME           N  NOTE",
        "茶             1  x",
        "coffee black  20",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0s"),
        (9.94, "9.9s"),
        (59, "59s"),
        (60, "1m 0s"),
        (3599, "59m 59s"),
        (3600, "1h 0m"),
        (90000, "1d 1h"),
    ],
)
def test_lengths_of_time(seconds: float, text: str) -> None:
    assert length(seconds) == text


def test_a_text_is_cut_to_its_columns() -> None:
    assert short("one\n two") == "one two"
    assert short("abcdef", 4) == "abc…"
    assert short("一二三四", 5) == "一二…"
