"""Pictures are well-formed and show every figure."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plot import COLOURS, LEFT, RIGHT, WIDTH, Bar, Row, Scale, bar_chart

SVG = "{http://www.w3.org/2000/svg}"

words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20)
values = st.none() | st.floats(min_value=1e-6, max_value=1e9)
bars = st.builds(Bar, words, values, words)
rows = st.builds(Row, words, st.sampled_from(sorted(COLOURS)), st.lists(bars, max_size=4))


@given(words, words, st.lists(rows, max_size=5))
def test_any_chart_is_well_formed_and_has_a_bar_for_each_figure(
    title: str, note: str, shown: list[Row]
) -> None:
    drawn = ElementTree.fromstring(bar_chart(title, note, shown))
    figures = [bar for row in shown for bar in row.bars if bar.value is not None]
    assert drawn.tag == f"{SVG}svg"
    assert len(drawn.findall(f"{SVG}rect")) == len(figures)


@given(st.lists(st.floats(min_value=1e-6, max_value=1e9), min_size=1, max_size=6))
def test_every_value_is_on_the_scale_and_a_larger_one_is_not_further_left(
    given: list[float],
) -> None:
    scale = Scale.over(given)
    places = [scale.at(value) for value in sorted(given)]
    assert places == sorted(places)
    assert all(LEFT <= place <= WIDTH - RIGHT + 0.001 for place in places)


def test_a_word_stands_where_there_is_no_figure() -> None:
    row = Row("Burr", "peer", [Bar("100", None, "over 120 s")])
    drawn = ElementTree.fromstring(bar_chart("W1", "", [row]))
    assert "over 120 s" in [text.text for text in drawn.findall(f"{SVG}text")]


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_what_is_not_above_nothing_is_at_the_left_end(value: float) -> None:
    assert Scale.over([value, 1.0]).at(value) == LEFT
