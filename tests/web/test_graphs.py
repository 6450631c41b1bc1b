"""Graphs: their versions, which sessions ran on each, what changed between two."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.graphs import essay
from tests.web.serving import Server

Serve = Callable[..., Server]
Look = Callable[..., Page]


def test_the_versions_of_a_graph_are_listed_compared_and_lead_to_their_sessions(
    serve: Serve, look: Look
) -> None:
    server, page = serve(essay()), look()
    first = server.run("essay")
    server.settled(first, "completed")
    server.put(essay().replace("max_rounds: 6", "max_rounds: 4"))
    second = server.run("essay")
    server.settled(second, "bounded")
    server.put(essay().replace("max_rounds: 6", "max_rounds: 8"))
    page.goto(f"{server.url}/graphs")
    page.get_by_role("link", name="Versions").click()
    expect(page.get_by_role("listitem")).to_have_count(3)
    newest = page.get_by_role("listitem").nth(0)
    expect(newest).to_contain_text("stored now")
    expect(newest).to_contain_text("no session yet")
    changes = page.get_by_role("table", name="Difference, line by line")
    expect(changes.locator(".removed")).to_have_text(re.compile("max_rounds: 4"))
    expect(changes.locator(".added")).to_have_text(re.compile("max_rounds: 8"))
    page.get_by_role("listitem").nth(2).get_by_role("button", name="Compare from").click()
    expect(changes.locator(".removed")).to_have_text(re.compile("max_rounds: 6"))
    page.reload()
    expect(changes.locator(".removed")).to_have_text(re.compile("max_rounds: 6"))
    page.get_by_role("listitem").nth(2).get_by_role("link", name="1 session").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text(first[:8])
    page.get_by_role("button", name=re.compile("^version ")).click()
    expect(page.locator("tbody tr")).to_have_count(2)
