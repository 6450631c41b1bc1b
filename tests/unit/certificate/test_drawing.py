"""Drawings: every node, edge and loop is there, apart from each other, and text is escaped."""

from __future__ import annotations

import itertools
from typing import Any
from xml.etree import ElementTree

from rondel.certificate import certify
from rondel.certificate.drawing import mermaid, picture_of, svg
from rondel.certificate.drawing.curves import CurveRouter
from rondel.certificate.drawing.layout import Rectangle, layout_of
from rondel.certificate.drawing.picture import Picture, Shape
from tests.unit.certificate.graphs import REVISE, body, edge, load, node, review

SVG = "{http://www.w3.org/2000/svg}"


def picture(graph: dict[str, Any]) -> Picture:
    plan = load(graph).plan()
    return picture_of(plan, certify(plan))


def nested() -> dict[str, Any]:
    inner = {**review(), "id": "inner"}
    inner.pop("breaker")
    nodes = [node("Head"), *(node(f"part {number}") for number in range(4))]
    nodes += [node("Work", "subgraph", graph=inner), node("Tail"), node("End")]
    edges = [edge("Head", f"part {number}") for number in range(4)]
    edges += [edge(f"part {number}", "Work") for number in range(4)]
    edges += [edge("Work", "Tail"), edge("Tail", "Tail", REVISE), edge("Tail", "Head", REVISE)]
    edges += [edge("Tail", "End"), edge("Head", "End", trigger=False)]
    return body(nodes, edges, loops={"Head": {"max_rounds": 3}})


def texts(graph: dict[str, Any]) -> list[str]:
    root = ElementTree.fromstring(svg(picture(graph)))
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_the_svg_shows_nodes_types_labels_and_bounds() -> None:
    shown = texts(review())
    assert {"Writer", "Reviewer", "Guard", "Final", "agent", "loop_counter"} <= set(shown)
    assert "Writer: at most 3 rounds (loop_counter 'Guard')" in shown
    assert shown.count("none ACCEPT") == 2
    root = ElementTree.fromstring(svg(picture(review())))
    assert len(list(root.iter(f"{SVG}path"))) == 1 + len(review()["edges"])


def test_text_is_escaped() -> None:
    graph = review()
    graph["nodes"][-1]["id"] = graph["end"] = '<b> & "Final"'
    for each in graph["edges"]:
        if each["to"] == "Final":
            each["to"] = graph["end"]
            each["label"] = "</text>"
    assert '<b> & "Final"' in texts(graph)
    assert "#lt;b#gt; #38; #quot;Final#quot;" in mermaid(picture(graph))


def apart(one: Rectangle, other: Rectangle) -> bool:
    across = one.right <= other.x or other.right <= one.x
    return across or one.bottom <= other.y or other.bottom <= one.y


def within(inner: Rectangle, outer: Rectangle) -> bool:
    across = outer.x <= inner.x and inner.right <= outer.right
    return across and outer.y <= inner.y and inner.bottom <= outer.bottom


def check_box(shape: Shape, places: dict[Shape, Rectangle]) -> None:
    inner = [each for row in shape.rows for each in row]
    for one, other in itertools.combinations(inner, 2):
        assert apart(places[one], places[other])
    for each in inner:
        assert within(places[each], places[shape])
        check_box(each, places)


def test_boxes_hold_what_is_in_them_and_nothing_overlaps() -> None:
    drawn = picture(nested())
    check_box(drawn.whole, layout_of(drawn).places)


def test_arrows_begin_and_end_at_their_nodes_and_miss_the_others() -> None:
    drawn = picture(nested())
    layout = layout_of(drawn)
    router = CurveRouter(layout, drawn.arrows)
    leaves = [shape for shape in drawn.whole.nodes if not shape.rows]
    for arrow in drawn.arrows:
        curve = router.curve(arrow)
        assert layout.nodes[arrow.source].holds(*curve.at(0), 1)
        assert layout.nodes[arrow.target].holds(*curve.at(1), 1)
        others = [s for s in leaves if s.node not in (arrow.source, arrow.target)]
        for part in range(1, 20):
            assert not any(layout.places[s].holds(*curve.at(part / 20)) for s in others)


def test_mermaid_nests_its_loops() -> None:
    text = mermaid(picture(nested()))
    assert text.startswith("flowchart TD\n")
    opened = [
        line.strip() for line in text.splitlines() if "subgraph" in line or line.strip() == "end"
    ]
    assert sum("subgraph" in line for line in opened) == opened.count("end") == 4
    assert 'Head: at most 3 rounds (contract)"]' in text
    assert "-.->" in text
    assert '|"none ACCEPT"|' in text
