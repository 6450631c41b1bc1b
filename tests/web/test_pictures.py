"""Pictures of every page, light and dark, in both languages; and what axe finds on each."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.graphs import REVIEW, STUCK, essay
from tests.web.serving import Server

Serve = Callable[..., Server]
Look = Callable[..., Page]

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
KEPT = ROOT / "docs" / "pictures"
"""Where `RONDEL_PICTURES=keep` puts what the guide shows."""

LOOKS = [("en", "light"), ("en", "dark"), ("zh", "light"), ("zh", "dark")]
LOCALES = {"en": "en-US", "zh": "zh-CN"}


class Album:
    """Takes pictures, and asks axe about each page on the way."""

    def __init__(self, page: Page, folder: Path, look: str) -> None:
        self.page = page
        self._folder = folder
        self._look = look
        self.found: list[str] = []

    def take(self, name: str) -> None:
        """One picture."""
        page = self.page
        page.mouse.move(0, 0)
        page.wait_for_timeout(350)  # what glides has come to rest
        page.screenshot(path=self._folder / f"{name}-{self._look}.png")
        self.found += [f"{name}: {finding}" for finding in serious(page)]


def serious(page: Page) -> list[str]:
    """What axe finds that keeps somebody from using the page."""
    page.evaluate(AXE.read_text("utf-8"))
    result: dict[str, Any] = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{violation['id']} {[node['target'] for node in violation['nodes'][:3]]}"
        for violation in result["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


def prepared(serve: Serve) -> tuple[Server, dict[str, str]]:
    """A server with something to see on every page."""
    nested = (ROOT / "examples" / "04_nested_loops" / "graph.yaml").read_text("utf-8")
    debate = (ROOT / "examples" / "07_debate" / "graph.yaml").read_text("utf-8")
    contract = (ROOT / "examples" / "09_loop_contract" / "graph.yaml").read_text("utf-8")
    server = serve(essay(), REVIEW, STUCK, nested, debate, contract)
    names = ("essay", "review", "stuck", "nested_loops", "debate", "loop_contract")
    ids = {name: server.run(name) for name in names}
    settled = {"review": "waiting", "stuck": "suspended_locked", "loop_contract": "bounded"}
    for name, id in ids.items():
        server.settled(id, settled.get(name, "completed"))
    server.call(f"/sessions/{ids['review']}/answer", {"text": "revise: warmer, please"})
    server.settled(ids["review"], "waiting")
    return server, ids


@pytest.mark.parametrize(("language", "theme"), LOOKS)
def test_every_page_is_seen_and_has_no_serious_finding(
    serve: Serve, look: Look, tmp_path: Path, language: str, theme: str
) -> None:
    folder = KEPT if os.environ.get("RONDEL_PICTURES") == "keep" else tmp_path
    folder.mkdir(exist_ok=True)
    server, ids = prepared(serve)
    page = look(locale=LOCALES[language], color_scheme=theme)
    album = Album(page, folder, f"{language}-{theme}")

    page.goto(f"{server.url}/sessions/{ids['loop_contract']}?at=Writer[4]/Writer&tab=diff")
    expect(page.locator(".detail ins").first).to_be_visible()
    expect(page.locator(".cell.scored").first).to_be_visible()
    album.take("session")
    page.goto(f"{server.url}/sessions/{ids['nested_loops']}?open=Outline[2]/Draft")
    expect(page.locator(".nested")).to_be_visible()
    album.take("nested")
    page.goto(f"{server.url}/sessions/{ids['nested_loops']}?view=canvas&at=Outline[2]/Editor")
    expect(page.locator(".react-flow__node-step")).to_have_count(7)
    album.take("canvas")
    page.goto(f"{server.url}/sessions/{ids['debate']}?view=transcript")
    expect(page.locator(".turn")).to_have_count(7)
    album.take("transcript")
    page.goto(f"{server.url}/sessions/{ids['debate']}?view=events")
    expect(page.locator(".event-line").first).to_be_visible()
    album.take("events")
    page.goto(f"{server.url}/sessions/{ids['stuck']}")
    page.locator(".standing .button").click()
    expect(page.locator(".side-by-side figure")).to_have_count(4)
    album.take("breaker")
    page.goto(f"{server.url}/sessions/{ids['essay']}?compare=Writer~2~4")
    expect(page.locator("dialog ins").first).to_be_visible()
    album.take("compare")
    page.goto(f"{server.url}/sessions")
    expect(page.locator("tbody tr")).to_have_count(6)
    album.take("sessions")
    page.goto(f"{server.url}/inbox")
    expect(page.locator(".question ins").first).to_be_visible()
    album.take("inbox")
    page.goto(f"{server.url}/graphs")
    expect(page.locator(".card")).to_have_count(6)
    album.take("graphs")
    page.goto(f"{server.url}/graphs/loop_contract/insights")
    expect(page.locator(".insights .card").first).to_be_visible()
    album.take("insights")
    page.goto(f"{server.url}/graphs/loop_contract/versions")
    expect(page.locator(".version")).to_have_count(1)
    album.take("versions")
    page.goto(f"{server.url}/graphs/nested_loops")
    page.locator('[data-loop="Outline"]').click()
    expect(page.locator(".strip b")).to_be_visible()
    album.take("editor")
    page.goto(f"{server.url}/graphs/nested_loops?view=yaml")
    expect(page.locator(".cm-content")).to_be_visible()
    album.take("yaml")
    assert album.found == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone(serve: Serve, look: Look, tmp_path: Path, theme: str) -> None:
    folder = KEPT if os.environ.get("RONDEL_PICTURES") == "keep" else tmp_path
    folder.mkdir(exist_ok=True)
    server, ids = prepared(serve)
    page = look(
        viewport={"width": 390, "height": 844},
        is_mobile=True,
        has_touch=True,
        device_scale_factor=2,
        color_scheme=theme,
    )
    album = Album(page, folder, f"phone-{theme}")
    page.goto(f"{server.url}/inbox")
    expect(page.locator(".question ins").first).to_be_visible()
    album.take("inbox")
    page.goto(f"{server.url}/sessions/{ids['essay']}")
    expect(page.locator(".cell.scored").first).to_be_visible()
    album.take("session")
    page.goto(f"{server.url}/sessions")
    expect(page.locator("tbody tr")).to_have_count(6)
    album.take("sessions")
    assert album.found == []
