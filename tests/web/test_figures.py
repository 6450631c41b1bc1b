"""Figures, measured in the browser; the bounds leave room for a machine that is busy."""

from __future__ import annotations

import gzip
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import PAGES, missing
from tests.web.graphs import chain, essay, long_loop
from tests.web.serving import Server

Serve = Callable[..., Server]
Look = Callable[..., Page]

FIRST_LOAD = 250_000
"""Bytes, compressed, before the editor and the view of the text."""

LONGEST = int(os.environ.get("RONDEL_ROUNDS", "2000"))
"""Rounds of the longest sheet; 10,000 for the figure in the report."""

FRAMES = """(milliseconds) => new Promise((resolve) => {
    const frames = [];
    const end = performance.now() + milliseconds;
    let last = performance.now();
    const tick = (now) => {
        frames.push(now - last);
        last = now;
        if (now < end) requestAnimationFrame(tick);
        else resolve(frames.slice(1).sort((a, b) => a - b));
    };
    requestAnimationFrame(tick);
})"""


def report(name: str, figures: dict[str, float], record: Callable[[str, object], None]) -> None:
    """Print figures, and keep them with the test's report."""
    print(json.dumps({name: figures}))
    record(name, figures)


def shares(frames: list[float]) -> dict[str, float]:
    """The median and the 95th percentile of the time between frames."""
    return {
        "frames": len(frames),
        "median_ms": round(frames[len(frames) // 2], 1),
        "p95_ms": round(frames[int(len(frames) * 0.95)], 1),
    }


def linked(page: str, folder: Path) -> set[Path]:
    """The files that a page loads before anything is clicked."""
    return {folder / name for name in re.findall(r'(?:src|href)="/(assets/[^"]+)"', page)}


def test_the_first_load_is_small(record_property: Callable[[str, object], None]) -> None:
    if not PAGES.exists():
        missing("The pages are not built: make web.")
    files = linked(PAGES.read_text("utf-8"), PAGES.parent) | {PAGES}
    languages = list((PAGES.parent / "assets").glob("zh-*.js"))
    sizes = {file.name: len(gzip.compress(file.read_bytes())) for file in [*files, *languages]}
    report("first_load_gzip", {"bytes": sum(sizes.values())}, record_property)
    assert languages
    assert sum(sizes.values()) < FIRST_LOAD
    assert not any("Yaml" in name or "Editor" in name or "GraphFlow" in name for name in sizes)


def test_a_page_is_there_at_once(
    serve: Serve, look: Look, record_property: Callable[[str, object], None]
) -> None:
    server, page = serve(essay()), look()
    session = server.run("essay")
    server.settled(session, "completed")
    page.goto(f"{server.url}/graphs")
    expect(page.locator(".card")).to_have_count(1)
    began = time.perf_counter()
    page.goto(f"{server.url}/sessions/{session}")
    page.locator('[data-address="Writer[5]/Critic"]').click()
    expect(page.locator(".detail .text")).to_contain_text("Good enough to print.")
    took = time.perf_counter() - began
    report("interactive", {"seconds": round(took, 2)}, record_property)
    assert took < 10


def test_a_thousand_rounds_stream_in_without_holding_up_the_page(
    serve: Serve, look: Look, record_property: Callable[[str, object], None]
) -> None:
    server, page = serve(long_loop(1000)), look()
    session = server.run("long")
    page.goto(f"{server.url}/sessions/{session}")
    expect(page.locator(".sheet .cell").first).to_be_visible()
    streaming = shares(page.evaluate(FRAMES, 2500))
    expect(
        page.get_by_text("Ended after 1,000 rounds").or_(page.get_by_text("1000 rounds")).first
    ).to_be_visible(timeout=120_000)
    assert page.locator(".cell").count() < 600
    page.evaluate(
        """() => {
            const sheet = document.querySelector(".sheet");
            let at = 0;
            const move = () => {
                sheet.scrollLeft = (at += 260);
                if (at < sheet.scrollWidth) requestAnimationFrame(move);
            };
            requestAnimationFrame(move);
        }"""
    )
    scrolling = shares(page.evaluate(FRAMES, 2500))
    report("streaming_1000_rounds", streaming, record_property)
    report("scrolling_1000_rounds", scrolling, record_property)
    assert streaming["median_ms"] < 100
    assert scrolling["median_ms"] < 100
    page.get_by_role("grid").focus()
    page.keyboard.press("Home")
    page.keyboard.press("End")
    expect(page.locator('[data-address="Writer[1000]/Writer"]')).to_be_visible()


def test_ten_thousand_rounds_are_summed_up_by_tens_with_a_brush(
    serve: Serve, look: Look, record_property: Callable[[str, object], None]
) -> None:
    server, page = serve(long_loop(LONGEST)), look()
    session = server.run("long")
    server.settled(session, "completed")
    began = time.perf_counter()
    page.goto(f"{server.url}/sessions/{session}")
    last = LONGEST - 9
    column = page.get_by_role("columnheader", name=f"{last}–{LONGEST}")
    expect(column).to_be_visible(timeout=120_000)
    opened = time.perf_counter() - began
    assert page.locator(".cell").count() < 400
    brush = page.get_by_role("slider", name="Which rounds the sheet shows")
    box = brush.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + 40)
    page.mouse.down()
    page.evaluate(f"window.measured = ({FRAMES})(2000)")
    for step in range(50):
        page.mouse.move(box["x"] + box["width"] * (1 - step / 49), box["y"] + 40)
    frames = shares(page.evaluate("window.measured"))
    page.mouse.up()
    report("brushing_10000_rounds", {"opened_s": round(opened, 2), **frames}, record_property)
    assert frames["median_ms"] < 100
    ten = page.locator('[data-rounds="1-10"]').first
    expect(ten).to_be_visible()
    assert brush.get_attribute("aria-valuenow") == "1"
    ten.click()
    expect(page.locator('[data-address="Writer[10]/Writer"]')).to_be_visible()
    expect(page.get_by_role("complementary", name="Detail")).to_contain_text("Round 1 of Writer")
    page.get_by_role("button", name="By tens").click()
    expect(page.locator("[data-rounds]").first).to_be_visible()
    page.reload()
    expect(page.locator("[data-rounds]").first).to_be_visible(timeout=60_000)


def test_a_node_is_dragged_in_a_graph_of_five_hundred(
    serve: Serve, look: Look, record_property: Callable[[str, object], None]
) -> None:
    server, page = serve(chain(500)), look()
    page.goto(f"{server.url}/graphs/chain")
    expect(page.locator(".strip")).to_contain_text("At most", timeout=60_000)
    for _ in range(4):
        page.get_by_role("button", name="Zoom In").click()
    page.wait_for_timeout(400)
    nodes = page.locator(".react-flow__node-step")
    boxes = [box for box in (nodes.nth(at).bounding_box() for at in range(nodes.count())) if box]
    box = next(b for b in boxes if b["x"] > 250 and b["y"] > 150 and b["x"] < 900 and b["y"] < 700)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.evaluate(f"window.measured = ({FRAMES})(2000)")
    for step in range(60):
        page.mouse.move(box["x"] + 20 + step * 2, box["y"] + 20 + step)
    frames = shares(page.evaluate("window.measured"))
    page.mouse.up()
    report("dragging_500_nodes", frames, record_property)
    assert frames["median_ms"] < 100


@pytest.mark.parametrize("edits", [5])
def test_the_certificate_follows_every_edit(
    serve: Serve, look: Look, record_property: Callable[[str, object], None], edits: int
) -> None:
    server, page = serve(essay()), look()
    page.goto(f"{server.url}/graphs/essay")
    page.locator('[data-loop="Writer"]').click()
    slider = page.get_by_role("slider", name="Most rounds")
    took = []
    for rounds in range(2, 2 + edits):
        slider.fill(str(rounds))
        began = time.perf_counter()
        expect(page.locator(".strip")).to_contain_text(f"{rounds} rounds, {2 * rounds + 1} steps")
        took.append(time.perf_counter() - began)
    report("certificate", {"median_ms": round(sorted(took)[edits // 2] * 1000)}, record_property)
    assert min(took) < 5
